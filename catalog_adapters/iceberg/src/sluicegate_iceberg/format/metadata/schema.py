"""Parses schemas of Iceberg tables (Iceberg specification, "Schemas and Data Types")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from sluicegate_iceberg.format.metadata.values import text, whole

_DEEPEST = 64  # levels of nesting for which the Delta schema can still be serialized
_LAST_ID = 2**31 - 1
_MOST_DIGITS = 38
_DECIMAL = re.compile(r"decimal\(\s*([0-9]{1,2})\s*,\s*([0-9]{1,2})\s*\)")


@dataclass(frozen=True, slots=True)
class Primitive:
    """A primitive type by its name: `long`, `decimal(9, 2)`, `fixed[16]`."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field of a struct.

    Attributes:
        id: Unique in the table; never changes and is never reused.
    """

    id: int
    name: str
    type: Type
    default: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """The columns of a table, or the fields of a nested value."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class List:
    """A list. Lists of equal types are equal."""

    element: Type
    element_id: int | None = dataclass_field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Map:
    """A map. Maps of equal types are equal."""

    key: Type
    value: Type
    key_id: int | None = dataclass_field(default=None, compare=False)
    value_id: int | None = dataclass_field(default=None, compare=False)


Type = Primitive | Struct | List | Map


def parse_struct(value: Mapping[str, Any], deepest: int = _DEEPEST) -> Struct:
    """Parse a schema or struct (Iceberg specification, "Appendix C: JSON serialization")."""
    return Struct(
        tuple(
            Field(
                whole(field["id"], 0, _LAST_ID),
                text(field["name"]),
                _parse(field["type"], deepest - 1),
                field.get("initial-default") is not None,
            )
            for field in value["fields"]
        )
    )


def _parse(value: Any, deepest: int) -> Type:
    if deepest < 0:
        raise ValueError("the schema is nested too deeply")
    if isinstance(value, str):
        return _primitive(value)
    if value["type"] == "struct":
        return parse_struct(value, deepest)
    if value["type"] == "list":
        return List(_parse(value["element"], deepest - 1), _id_of(value, "element-id"))
    if value["type"] == "map":
        return Map(
            _parse(value["key"], deepest - 1),
            _parse(value["value"], deepest - 1),
            _id_of(value, "key-id"),
            _id_of(value, "value-id"),
        )
    return _primitive(text(value["type"]))


def _id_of(value: Mapping[str, Any], name: str) -> int | None:
    """The id of a list's element, or of a map's key or value. Only Iceberg clients need it."""
    id_ = value.get(name)
    return id_ if type(id_) is int and 0 <= id_ <= _LAST_ID else None


def _primitive(name: str) -> Primitive:
    if name.startswith("decimal"):
        match = _DECIMAL.fullmatch(name)
        if match is None or not int(match[2]) <= int(match[1]) <= _MOST_DIGITS:
            raise ValueError("a decimal type has an invalid precision or scale")
    return Primitive(name)


@dataclass(frozen=True, slots=True)
class Place:
    """A field and the id of its parent field (0: the table)."""

    parent: int
    field: Field


def places(type_: Type, parent: int = 0) -> Iterator[Place]:
    """Return every field of a schema, including nested ones."""
    if isinstance(type_, Struct):
        for field in type_.fields:
            yield Place(parent, field)
            yield from places(field.type, field.id)
    elif isinstance(type_, List):
        yield from places(type_.element, parent)
    elif isinstance(type_, Map):
        yield from places(type_.key, parent)
        # Key and value of a map can both be structs, whose fields are unrelated.
        yield from places(type_.value, -parent)
