"""Translates Iceberg's types to Delta's (for a table, see docs/operators/iceberg-tables.md).

Every field is declared as nullable: a missing field is read as null, which readers of Delta tables
reject in other columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import orjson

from sluicegate.api import UnsupportedOperation
from sluicegate_iceberg.format.metadata.schema import Field, List, Primitive, Struct, Type

ResponseFormat = Literal["delta", "parquet"]
FieldMetadata = Callable[[Field], Mapping[str, Any]]

_SAME: Mapping[str, str] = {
    "boolean": "boolean",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "date": "date",
    "string": "string",
    "binary": "binary",
    "timestamptz": "timestamp",
    "timestamptz_ns": "timestamp",
}
_WITHOUT_ZONE = ("timestamp", "timestamp_ns")
_SHOWN = 100  # characters of a name
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


def schema_string(columns: Struct, format_: ResponseFormat, metadata: FieldMetadata) -> str:
    """Return the Delta schema, without parts that the response format can't represent."""
    declared = _struct(columns, format_, metadata)
    if declared is None:
        raise UnsupportedOperation("no column of the Iceberg table has a type that can be shared")
    return orjson.dumps(declared).decode()


def without_zone(columns: Iterable[Type]) -> bool:
    """Return whether any of these types is or contains a timestamp without time zone."""
    for type_ in columns:
        parts: Iterable[Type] = ()
        if isinstance(type_, Primitive):
            if type_.name in _WITHOUT_ZONE:
                return True
        elif isinstance(type_, Struct):
            parts = (field.type for field in type_.fields)
        else:
            parts = (type_.element,) if isinstance(type_, List) else (type_.key, type_.value)
        if without_zone(parts):
            return True
    return False


def _struct(struct: Struct, format_: ResponseFormat, metadata: FieldMetadata) -> Any:
    typed = ((field, _type(field.type, format_, metadata)) for field in struct.fields)
    fields = [
        {"name": field.name, "type": type_, "nullable": True, "metadata": metadata(field)}
        for field, type_ in typed
        if type_ is not None
    ]
    return {"type": "struct", "fields": fields} if fields else None


def _type(type_: Type, format_: ResponseFormat, metadata: FieldMetadata) -> Any:
    """Return Delta's type; `None` for types that are left out."""
    if isinstance(type_, Primitive):
        return _primitive(type_.name, format_)
    if isinstance(type_, Struct):
        return _struct(type_, format_, metadata)
    if isinstance(type_, List):
        element = _type(type_.element, format_, metadata)
        return element and {"type": "array", "elementType": element, "containsNull": True}
    key, value = _type(type_.key, format_, metadata), _type(type_.value, format_, metadata)
    return (
        key and value and {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    )


def _primitive(name: str, format_: ResponseFormat) -> str | None:
    if name in _SAME:
        return _SAME[name]
    if name in _WITHOUT_ZONE:
        return "timestamp_ntz" if format_ == "delta" else "timestamp"
    if match := _DECIMAL.fullmatch(name):
        return f"decimal({match[1]},{match[2]})"
    if name == "uuid" or name.startswith("fixed"):
        return "binary" if format_ == "parquet" else None
    if name == "time":
        return None
    raise UnsupportedOperation(
        f"the Iceberg table has a column of type {name[:_SHOWN]}, which Delta Sharing cannot "
        "represent: share a view or a copy without the column"
    )
