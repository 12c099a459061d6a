"""Explains why sources that are shared entirely have nothing to share."""

from __future__ import annotations

from sluicegate.access.selection import ListedSchema, Selection
from sluicegate.api import Catalog, ListedTable


def empty_catalog(selected: Selection[ListedSchema], listed: int, catalog: Catalog) -> str | None:
    """Explain why a catalog that is shared entirely has no schemas; `None` if it has some."""
    reason = selected.reason_for_none(listed, catalog.reason_for_no_schemas)
    return None if reason is None else f"0 schemas: {reason}"


def empty_schema(selected: Selection[ListedTable], listed: int, catalog: Catalog) -> str | None:
    """Explain why a schema that is shared entirely has no tables; `None` if it has some."""
    reason = selected.reason_for_none(listed, catalog.reason_for_none)
    return None if reason is None else f"0 tables: {reason}"
