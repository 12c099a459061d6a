"""Statistics of data files, as far as `stats-fields` requests them.

Java parses bounds as maps of binary values, although the REST specification has typed ones. They are
thus the hexadecimal digits of "Binary single-value serialization" (Iceberg specification). PyIceberg
accepts and ignores them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.protocols.iceberg_rest.planning.expressions.columns import Columns, TableField
from sluicegate.protocols.iceberg_rest.planning.expressions.transforms import two_complement
from sluicegate.tables.predicates.columns import TableColumn, find_column
from sluicegate.tables.predicates.values import maximum, statistics_span
from sluicegate.tables.snapshot import TableMetadata

_WHERE = "stats-fields"


@dataclass(frozen=True, slots=True)
class _Measured:
    """A column whose statistics are requested."""

    id: int
    source: TableColumn
    write: Callable[[Any], bytes] | None


class Statistics:
    """Encodes the statistics of some columns."""

    def __init__(self, metadata: TableMetadata, columns: Columns, names: Sequence[str]) -> None:
        # Without case sensitivity, a column has many names.
        found = {column.field.id: column for column in (columns.find(name, _WHERE) for name in names)}
        measured = (_measured(metadata, column) for column in found.values())
        self._measured = [each for each in measured if each is not None]

    @property
    def columns(self) -> int:
        """The number of columns that have statistics."""
        return len(self._measured)

    def members(self, stats: Sequence[str | None]) -> list[str]:
        """For each file, the members with its counts and bounds, after a comma, or nothing."""
        if not self._measured:
            return [""] * len(stats)
        return [self._of(_document(text)) for text in stats]

    def _of(self, stats: Mapping[str, Any]) -> str:
        members: dict[str, dict[int, Any]] = {}
        for column in self._measured:
            for name, value in _of_column(column, stats):
                members.setdefault(name, {})[column.id] = value
        return "".join(f',"{name}":{_map(values)}' for name, values in members.items())


def _of_column(column: _Measured, stats: Mapping[str, Any]) -> list[tuple[str, Any]]:
    path, kind = column.source.path, column.source.type
    records, nulls = stats.get("numRecords"), _at(stats.get("nullCount"), path)
    found: list[tuple[str, Any]] = []
    if _is_count(records):
        found.append(("value-counts", records))
    if _is_count(nulls):
        found.append(("null-value-counts", nulls))
    if column.write is None:
        return found
    span = statistics_span(kind, _at(stats.get("minValues"), path))
    high = maximum(kind, _at(stats.get("maxValues"), path))
    low = None if span is None else span[0]
    if low is not None and high is not None and low > high:
        return found  # cannot be valid statistics of a file
    for name, bound in (("lower-bounds", low), ("upper-bounds", high)):
        written = None if bound is None else _hexadecimal(column.write, bound)
        if written is not None:
            found.append((name, written))
    return found


def _hexadecimal(write: Callable[[Any], bytes], bound: Any) -> str | None:
    try:
        return write(bound).hex().upper()
    except (struct.error, OverflowError, ValueError):
        return None


def _measured(metadata: TableMetadata, column: TableField) -> _Measured | None:
    if not column.in_structs:
        return None
    source = find_column(metadata, [field.name for field in column.fields])
    if source is None or source.is_partition:
        return None
    return _Measured(column.field.id, source, _WRITERS.get((column.primitive or "").partition("(")[0]))


def _map(values: Mapping[int, Any]) -> str:
    return orjson.dumps({"keys": list(values), "values": list(values.values())}).decode()


def _document(text: str | None) -> Mapping[str, Any]:
    try:
        stats = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return stats if isinstance(stats, dict) else {}


def _at(document: Any, path: Sequence[str]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _packed(layout: str) -> Callable[[Any], bytes]:
    return lambda value: struct.pack(layout, value)


def _unscaled(value: Any) -> bytes:
    return two_complement(int(value))


def _utf8(value: bytes) -> bytes:
    """A string bound. That of a truncated maximum is not UTF-8, which raises `ValueError`."""
    return value.decode().encode()


_WRITERS: Mapping[str, Callable[[Any], bytes]] = {
    "boolean": _packed("<?"),
    "int": _packed("<i"),
    "long": _packed("<q"),
    "float": _packed("<f"),
    "double": _packed("<d"),
    "decimal": _unscaled,
    "string": _utf8,
    "date": _packed("<i"),
    "timestamp": _packed("<q"),
    "timestamptz": _packed("<q"),
}
