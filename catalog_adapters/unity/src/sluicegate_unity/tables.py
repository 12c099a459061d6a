"""Models the catalog's tables, and decides which of them can be shared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sluicegate.api import ListedTable, UnsupportedOperation
from sluicegate_unity.locations import location_of
from sluicegate_unity.names import TableName, is_name

# Views of any kind have no files of their own, even if their format is DELTA.
_TABLES: Final = frozenset(("MANAGED", "EXTERNAL", "STREAMING_TABLE"))
_FORMAT: Final = "DELTA"
_CREDENTIALS: Final = "/temporary-table-credentials"
_UNIFORM: Final = "delta.universalFormat.enabledFormats"


@dataclass(frozen=True, slots=True)
class UnityTable:
    """A Delta table of the catalog.

    Attributes:
        id: Unique id: a table that is dropped and created again has another one.
    """

    name: TableName
    id: str
    uri: str
    location: str
    managed: bool
    properties: Mapping[str, Any] = field(compare=False)
    listed_name: str | None = None

    @property
    def kind(self) -> str:
        """Return what it is, for messages."""
        return "table"

    @property
    def delta_path(self) -> str | None:
        """Return its route in the Delta API, which some servers require for managed tables."""
        return self.name.delta_path if self.managed else None

    @property
    def request(self) -> tuple[str, Mapping[str, Any]]:
        """Return the route for credentials, and the body of the request."""
        return _CREDENTIALS, {"table_id": self.id, "operation": "READ"}

    @property
    def is_uniform(self) -> bool:
        """Return whether the table has Iceberg metadata in addition to its Delta log (UniForm)."""
        formats = str(self.properties.get(_UNIFORM, "")).split(",")
        return "iceberg" in (each.strip() for each in formats)


def readable(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry of a listing is a Delta table with files."""
    return _obstacle(entry) is None and is_name(entry.get("name"))


def listed_table(entry: Mapping[str, Any], tags: Collection[str] = ()) -> ListedTable:
    """Return the table that a readable entry of a listing names."""
    identity, created = entry.get("table_id"), entry.get("created_at")
    return ListedTable(
        entry["name"],
        identity if isinstance(identity, str) and identity else None,
        created if isinstance(created, int) else None,
        tags_of(entry.get("properties"), tags),
    )


def table_of(name: TableName, answer: Mapping[str, Any]) -> UnityTable:
    """Return the table that a response describes."""
    if str(answer.get("name")).casefold() != name.table.casefold():
        raise ValueError("the response describes another table")
    if (obstacle := _obstacle(answer)) is not None:
        raise UnsupportedOperation(f"the table cannot be shared: {obstacle}", detail=str(name))
    identity, uri = answer.get("table_id"), answer.get("storage_location")
    if not isinstance(identity, str) or not identity:
        raise ValueError("the table has no id")
    try:
        location = location_of(str(uri))
    except ValueError as error:
        raise ValueError(f"the location {uri!r} cannot be used: {error}") from error
    properties = answer.get("properties")
    return UnityTable(
        name=name,
        id=identity,
        uri=str(uri),
        location=location,
        managed=answer["table_type"] == "MANAGED",
        properties=properties if isinstance(properties, dict) else {},
        listed_name=str(answer.get("name")),
    )


def tags_of(properties: object, names: Collection[str]) -> Mapping[str, str]:
    """Return the properties of a table that are tags."""
    known = properties if isinstance(properties, dict) else {}
    return {name: known[name] for name in names if isinstance(known.get(name), str)}


def _obstacle(entry: Mapping[str, Any]) -> str | None:
    """Explain why a table can't be shared."""
    kind, form = entry.get("table_type"), entry.get("data_source_format")
    if not isinstance(kind, str) or kind not in _TABLES:
        return "it is a view in its catalog, or another kind of table without its own files"
    if form != _FORMAT:
        return "according to its catalog, it is not a Delta table"
    if not entry.get("storage_location"):
        return "its catalog does not report the location of its files"
    return None
