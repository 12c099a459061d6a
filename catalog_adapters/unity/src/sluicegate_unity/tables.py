"""Tables as the catalog describes them, and which of them can be shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sluicegate.api import ListedTable, UnsupportedOperation
from sluicegate_unity.locations import location_of
from sluicegate_unity.names import TableName, is_name

# Views of any kind have no files that are theirs alone, also where they carry format DELTA.
_TABLES: Final = frozenset(("MANAGED", "EXTERNAL", "STREAMING_TABLE"))
_FORMAT: Final = "DELTA"


@dataclass(frozen=True, slots=True)
class UnityTable:
    """A Delta table of the catalog.

    Attributes:
        id: Of this table: one that is dropped and created anew has another.
        uri: Its location as the catalog spells it.
        location: The same, literal and canonical.
        managed: The catalog owns the files, and may own the commits too.
        properties: As they were registered, maybe stale.
    """

    name: TableName
    id: str
    uri: str
    location: str
    managed: bool
    properties: Mapping[str, Any] = field(compare=False)


def readable(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of a listing is a Delta table with files."""
    return _obstacle(entry) is None and is_name(entry.get("name"))


def listed_table(entry: Mapping[str, Any]) -> ListedTable:
    """What a readable entry of a listing names."""
    identity = entry.get("table_id")
    return ListedTable(entry["name"], identity if isinstance(identity, str) and identity else None)


def table_of(name: TableName, answer: Mapping[str, Any]) -> UnityTable:
    """The table that an answer describes.

    Args:
        name: What was asked for.
        answer: What the catalog says.

    Raises:
        UnsupportedOperation: It is a view, or of another format than Delta.
        ValueError: The answer is none about this table.
    """
    if str(answer.get("name")).casefold() != name.table.casefold():
        raise ValueError("the answer is about another table")
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
    )


def _obstacle(entry: Mapping[str, Any]) -> str | None:
    """Why a table cannot be shared."""
    kind, form = entry.get("table_type"), entry.get("data_source_format")
    if not isinstance(kind, str) or kind not in _TABLES:
        return "it is a view in its catalog, or of another kind than tables with files of their own"
    if form != _FORMAT:
        return "its catalog says that it is no Delta table"
    if not entry.get("storage_location"):
        return "its catalog does not say where its files are"
    return None
