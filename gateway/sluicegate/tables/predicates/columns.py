"""Resolves the table's columns that a predicate refers to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson
import pyarrow as pa

from sluicegate._util.lru import cached_by_text
from sluicegate.tables.column_mapping import PHYSICAL_NAME, is_mapped
from sluicegate.tables.snapshot import TableMetadata

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


class Family(Enum):
    """Types whose values are compared the same way, and the representation of a value.

    A 64-bit integer, which counts days since 1970 for dates and microseconds since 1970 for timestamps.
    A double. For decimals, an integer that counts units of the last digit. For strings, their UTF-8
    bytes, which sort as Spark sorts strings. Values of `OTHER` types are not compared, but can be null.
    """

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp without time zone"
    OTHER = "other"


_FAMILIES = {
    "boolean": Family.BOOLEAN,
    "byte": Family.INTEGER,
    "short": Family.INTEGER,
    "integer": Family.INTEGER,
    "long": Family.INTEGER,
    "float": Family.FLOAT,
    "double": Family.FLOAT,
    "string": Family.STRING,
    "date": Family.DATE,
    "timestamp": Family.TIMESTAMP,
    "timestamp_ntz": Family.TIMESTAMP_NTZ,
}
_DOMAINS = {
    Family.FLOAT: pa.float64(),
    Family.DECIMAL: pa.decimal128(38, 0),
    Family.STRING: pa.binary(),
}


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's type."""

    name: str
    family: Family
    precision: int = 0
    scale: int = 0
    was_float: bool = False

    @classmethod
    def of(cls, field: Mapping[str, Any]) -> ColumnType:
        """The type of a field of the schema (Delta protocol, "Schema Serialization Format").

        Strings with a collation and padded ones (`char`) are not compared byte by byte: `OTHER`.
        """
        name, metadata = field["type"], field.get("metadata") or {}
        if not isinstance(name, str):
            return cls("nested", Family.OTHER)
        if decimal := _DECIMAL.fullmatch(name):
            return cls(name, Family.DECIMAL, int(decimal[1]), int(decimal[2]))
        family = _FAMILIES.get(name, Family.OTHER)
        if family is Family.STRING and _compares_otherwise(metadata):
            family = Family.OTHER
        return cls(name, family, was_float=name == "float" or "delta.typeChanges" in metadata)

    @property
    def domain(self) -> pa.DataType:
        """The Arrow type in which values are compared."""
        return _DOMAINS.get(self.family, pa.int64())


def _compares_otherwise(metadata: Mapping[str, Any]) -> bool:
    declared = str(metadata.get("__CHAR_VARCHAR_TYPE_STRING", ""))
    return "__COLLATIONS" in metadata or declared.startswith("char")


# Spark's client writes partition columns as members of the log's map (`partitionValues.day`).
_PARTITION_VALUES = "partitionvalues"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as the log names it."""

    path: tuple[str, ...]
    type: ColumnType
    is_partition: bool


def find_column(metadata: TableMetadata, path: Sequence[str]) -> TableColumn | None:
    """The column with a name, which is case-insensitive if only one column matches."""
    found = _find(metadata, path)
    if found is None and len(path) == 1 and "." in path[0]:
        found = _find(metadata, path[0].split("."))
    if found is None and len(path) == 2 and path[0].casefold() == _PARTITION_VALUES:
        found = _find(metadata, path[1:])
        return found if found is not None and found.is_partition else None
    return found


def _find(metadata: TableMetadata, path: Sequence[str]) -> TableColumn | None:
    mapped = is_mapped(metadata)
    fields = _fields(metadata.schema_string)
    physical = []
    for depth, name in enumerate(path, start=1):
        field = _member(fields, name)
        if field is None:
            return None
        physical.append(_physical_name(field) if mapped else field["name"])
        if depth == len(path):
            is_partition = depth == 1 and field["name"] in metadata.partition_columns
            return TableColumn(tuple(physical), ColumnType.of(field), is_partition)
        fields = _members(field)
    return None


def _member(fields: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    folded = name.casefold()
    same = [field for field in fields if field["name"].casefold() == folded]
    exact = [field for field in same if field["name"] == name]
    matches = exact or same
    return matches[0] if len(matches) == 1 else None


def _members(field: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    kind = field["type"]
    return kind["fields"] if isinstance(kind, dict) and kind.get("type") == "struct" else ()


def _physical_name(field: Mapping[str, Any]) -> str:
    return str(field.get("metadata", {}).get(PHYSICAL_NAME, field["name"]))


@cached_by_text
def _fields(schema_string: str) -> Sequence[Mapping[str, Any]]:
    fields: Sequence[Mapping[str, Any]] = orjson.loads(schema_string)["fields"]
    return fields
