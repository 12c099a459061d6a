"""Leaves columns of the type `void` out of schemas: no file has them, and all of their values are null.

Spark and deltalake read such columns as nulls. Other clients reject schemas with this type, and a
client cannot state whether it accepts it (docs/interop.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

VOID = ("void", "null")  # Spark before 3.0 wrote the second one
_PARTS = ("elementType", "keyType", "valueType")


def without_void(schema_string: str) -> str:
    """The schema without columns and fields of structs that have the type `void`.

    Lists and maps of this type stay, because no reader of Delta tables accepts them.

    Args:
        schema_string: A valid schema (`checked_schema`).
    """
    if not any(f'"{name}"' in schema_string for name in VOID):
        return schema_string
    schema = orjson.loads(schema_string)
    kept = {**schema, "fields": _fields(schema)}
    return schema_string if kept == schema else orjson.dumps(kept).decode()


def _kept(kind: Any) -> Any:
    """A type without its void fields. `void` if no other field of a struct is left."""
    if not isinstance(kind, Mapping):
        return VOID[0] if kind in VOID else kind
    if kind["type"] != "struct":
        return {**kind, **{part: _kept(kind[part]) for part in _PARTS if part in kind}}
    fields = _fields(kind)
    return {**kind, "fields": fields} if fields or not kind["fields"] else VOID[0]


def _fields(struct: Mapping[str, Any]) -> list[dict[str, Any]]:
    fields = [{**field, "type": _kept(field["type"])} for field in struct["fields"]]
    return [field for field in fields if field["type"] != VOID[0]]
