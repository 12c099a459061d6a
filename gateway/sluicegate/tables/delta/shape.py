"""Validates the shape of actions (Delta protocol), so that later code does not need to check it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from sluicegate.tables.column_mapping import PHYSICAL_NAME

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_MOST_DIGITS = 38
_MOST_LEVELS = 100
_PARTS = {"array": ("elementType",), "map": ("keyType", "valueType")}
_LAST_TIMESTAMP = 253_402_300_799_999  # the end of the year 9999


def checked_schema(text: Any) -> str:
    """A table's schema as text (Delta protocol, "Schema Serialization Format")."""
    schema = orjson.loads(text) if isinstance(text, str) else None
    if not isinstance(schema, Mapping) or schema.get("type") != "struct":
        raise ValueError("the schema is not a struct")
    _check_type(schema, _MOST_LEVELS)
    return str(text)


def texts(values: Any) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("this is not a list of strings")
    return tuple(values)


def text_map(values: Any) -> dict[str, str]:
    """A map of texts, which is a dictionary in JSON and a list of pairs in Parquet."""
    pairs = dict(values)
    if not all(isinstance(part, str) for pair in pairs.items() for part in pair):
        raise ValueError("this is not a map of strings")
    return pairs


def optional(value: Any, kind: type) -> Any:
    """A value of a type, or none."""
    if value is not None and type(value) is not kind:
        raise ValueError(f"this is not of type {kind.__name__}")
    return value


def timestamp(value: Any) -> int | None:
    """Epoch milliseconds, or `None`."""
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= _LAST_TIMESTAMP:
        raise ValueError("this is not a timestamp")
    return value


def _check_type(kind: Any, levels: int) -> None:
    if isinstance(kind, str):
        decimal = _DECIMAL.fullmatch(kind)
        if decimal and max(int(decimal[1]), int(decimal[2])) > _MOST_DIGITS:
            raise ValueError("a decimal has too many digits")
        return
    if not isinstance(kind, Mapping) or levels == 0:
        raise ValueError("a type is invalid, or types are nested too deeply")
    if kind.get("type") == "struct":
        for field in kind["fields"]:
            _check_field(field)
            _check_type(field["type"], levels - 1)
        return
    for part in _PARTS[kind["type"]]:
        _check_type(kind[part], levels - 1)


def _check_field(field: Any) -> None:
    metadata = field.get("metadata") or {}
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get(PHYSICAL_NAME, ""), str):
        raise ValueError("a field's metadata is invalid")
    if not isinstance(field.get("name"), str):
        raise ValueError("a field has no name")
