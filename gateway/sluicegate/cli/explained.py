"""The output of `sluicegate access`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sluicegate._util.printable import printable
from sluicegate.cli.tabular import columns

_ACTIONS = {
    "read": "read",
    "vend": "get temporary credentials for",
    "url": "read by presigned URLs (url)",
    "dir": "read by directory (dir)",
    "iceberg": "read as an Iceberg table",
}


def explanation_lines(found: dict[str, Any]) -> Iterator[str]:
    """An explanation for people: the answer, the steps, the ways, and the listings."""
    return map(printable, _explanation(found))


def _explanation(found: dict[str, Any]) -> Iterator[str]:
    can = "can" if found["allowed"] else "cannot"
    yield f"{found['recipient']} {can} {_ACTIONS[found['action']]} {found['kind']} {found['path']}"
    yield ""
    steps = [(step["name"], step["outcome"], step["reason"]) for step in found["steps"]]
    yield from columns(("STEP", "OUTCOME", "REASON"), steps)
    if found["ways"]:
        yield ""
        ways = [
            (way["name"], "open" if way["open"] else f"{way['status']} {way['code']}", way["reason"])
            for way in found["ways"]
        ]
        yield from columns(("WAY", "STATE", "DETAILS"), ways)
    if found["listed"] is not None:
        yield ""
        shown = {"Delta Sharing": found["listed"], "Iceberg": found["listed_in_iceberg"]}
        listings = [name for name, is_shown in shown.items() if is_shown]
        yield f"shown in listings of: {', '.join(listings) or 'none'}"


def readers_lines(found: dict[str, Any]) -> Iterator[str]:
    """The recipients of a table for people."""
    return map(printable, _readers(found))


def _readers(found: dict[str, Any]) -> Iterator[str]:
    readers = found["readers"]
    able = sum(bool(reader["allowed"]) for reader in readers)
    place = f"{found['kind']} {found['path']}"
    yield f"{able} of {len(readers)} recipients of the share can read {place}"
    if readers:
        yield ""
        header = ("RECIPIENT", "CAN READ", "WAYS", "CREDENTIALS", "REASON")
        yield from columns(header, [_row(reader) for reader in readers])


def _row(reader: dict[str, Any]) -> tuple[str, ...]:
    ways = ", ".join(reader["ways"]) or "-"
    can = {True: "yes", False: "no", None: "-"}[reader["allowed"]]
    return reader["recipient"], can, ways, reader["credentials"], reader["reason"]
