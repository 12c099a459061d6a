"""Selects the branch or tag at which a table is shared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sluicegate.api import CatalogTable, NotFound, UnsupportedOperation

_DELTA = "delta"
_SHOWN_NAMES = 20


def at_ref(table: CatalogTable, ref: str | None) -> CatalogTable:
    """Return the table at a branch or tag; `None` for its main branch.

    Whether it exists is checked here if the catalog reports the names, and otherwise when the table is
    read.

    Raises:
        NotFound: It does not exist.
        UnsupportedOperation: The table is a Delta table, which has none.
    """
    if ref is None:
        return table
    if table.format == _DELTA:
        raise without_refs(table.format)
    if table.refs is not None and ref not in table.refs:
        raise no_such_ref(ref, table.refs)
    return replace(table, ref=ref)


def no_such_ref(ref: str, known: Iterable[str]) -> NotFound:
    """Return the error for a branch or tag that does not exist. Recipients do not see its name."""
    listed = ", ".join(map(repr, sorted(known)[:_SHOWN_NAMES]))
    return NotFound(
        "the branch or tag at which the table is shared does not exist: ask the provider to share "
        "another one",
        detail=f"{ref!r} is none of {listed}",
    )


def without_refs(format_: str) -> UnsupportedOperation:
    """Return the error for a table of a format without branches and tags."""
    return UnsupportedOperation(
        f"the table is shared at a branch or tag, but tables of format '{format_}' have none: ask the "
        "provider to share it without ref"
    )
