"""Column types, and the domain in which values of each are compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa

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
    """A column's type.

    Attributes:
        name: Delta's name for it.
        precision: Digits of a decimal.
        scale: Digits after the decimal point.
        was_float: Whether the column can contain values that were written with single precision.
    """

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
