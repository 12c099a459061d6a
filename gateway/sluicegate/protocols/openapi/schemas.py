"""Short helpers for JSON Schema, so that the other modules of this package read as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def text(description: str, **bounds: Any) -> Schema:
    """A string."""
    return {"type": "string", **bounds, "description": description}


def choice(description: str, *values: str) -> Schema:
    """One of some strings."""
    return text(description, enum=list(values))


def whole(description: str, low: int = 0, high: int = INT64_MAX) -> Schema:
    """An integer within limits."""
    kind = "int32" if high <= INT32_MAX else "int64"
    return {
        "type": "integer",
        "format": kind,
        "minimum": low,
        "maximum": high,
        "description": description,
    }


def flag(description: str) -> Schema:
    """A boolean. Missing means false."""
    return {"type": "boolean", "default": False, "description": description}


def instant(description: str) -> Schema:
    """A time as text ("Timestamp Format")."""
    note = "ISO 8601 with an offset, such as `2022-01-01T00:00:00Z`."
    return text(f"{description} {note}", format="date-time")


def many(items: Schema, description: str, **bounds: Any) -> Schema:
    """An array."""
    return {"type": "array", "items": items, **bounds, "description": description}


def mapping(values: Schema, description: str) -> Schema:
    """An object with any keys."""
    return {"type": "object", "additionalProperties": values, "description": description}


def record(
    description: str, required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None
) -> Schema:
    """An object with known members."""
    members = {**required, **(optional or {})}
    kept = {"required": list(required)} if required else {}
    return {"type": "object", "description": description, **kept, "properties": members}


def only(key: str, value: Schema) -> Schema:
    """An object with this one member."""
    return {
        "type": "object",
        "required": [key],
        "properties": {key: value},
        "additionalProperties": False,
    }


def schema_ref(name: str) -> Schema:
    """A reference to one of the document's schemas."""
    return {"$ref": f"#/components/schemas/{name}"}
