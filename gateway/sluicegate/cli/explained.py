"""The output of `sluicegate access`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sluicegate._util.printable import printable
from sluicegate.cli.tabular import columns

if TYPE_CHECKING:
    from sluicegate.protocols.explain.models import Explanation, Reader, Readers

_ACTIONS = {
    "read": "read",
    "vend": "get temporary credentials for",
    "url": "read by presigned URLs (url)",
    "dir": "read by directory (dir)",
    "iceberg": "read as an Iceberg table",
}


def explanation_lines(found: Explanation) -> Iterator[str]:
    """An explanation for people: the answer, the steps, the ways, and the listings."""
    return map(printable, _explanation(found))


def _explanation(found: Explanation) -> Iterator[str]:
    can = "can" if found.allowed else "cannot"
    yield f"{found.recipient} {can} {_ACTIONS[found.action]} {found.kind} {found.path}"
    yield ""
    steps = [(step.name, step.outcome, step.reason) for step in found.steps]
    yield from columns(("STEP", "OUTCOME", "REASON"), steps)
    if found.ways:
        yield ""
        ways = [
            (way.name, "open" if way.is_open else f"{way.status} {way.code}", way.reason)
            for way in found.ways
        ]
        yield from columns(("WAY", "STATE", "DETAILS"), ways)
    if found.listed is not None:
        yield ""
        shown = {"Delta Sharing": found.listed, "Iceberg": found.listed_in_iceberg}
        listings = [name for name, is_shown in shown.items() if is_shown]
        yield f"shown in listings of: {', '.join(listings) or 'none'}"


def explanation_json(found: Explanation) -> dict[str, Any]:
    """An explanation as JSON."""
    ways = [
        {"name": way.name, "open": way.is_open, "status": way.status}
        | {"code": way.code, "reason": way.reason}
        for way in found.ways
    ]
    return asdict(found) | {"ways": ways}


def readers_lines(found: Readers) -> Iterator[str]:
    """The recipients of a table for people."""
    return map(printable, _readers(found))


def _readers(found: Readers) -> Iterator[str]:
    able = sum(reader.allowed for reader in found.readers)
    total = len(found.readers)
    yield f"{able} of {total} recipients of the share can read {found.kind} {found.path}"
    if found.readers:
        yield ""
        header = ("RECIPIENT", "CAN READ", "WAYS", "CREDENTIALS", "REASON")
        yield from columns(header, [_row(reader) for reader in found.readers])


def readers_json(found: Readers) -> dict[str, Any]:
    """The recipients of a table as JSON."""
    return asdict(found)


def _row(reader: Reader) -> tuple[str, ...]:
    ways = ", ".join(reader.ways) or "-"
    return reader.recipient, "yes" if reader.allowed else "no", ways, reader.credentials, reader.reason
