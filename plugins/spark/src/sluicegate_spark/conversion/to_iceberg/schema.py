"""Translates a Delta table's schema to an Iceberg schema with field ids that match the data files.

Sources: Delta protocol, "Column Mapping" and "Schema Serialization Format"; Iceberg specification,
"Schemas" and "Column Projection" (files without field ids are read by a name mapping).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from sluicegate.api import UnsupportedOperation

_SAME = frozenset(("boolean", "long", "float", "double", "date", "string", "binary"))
_TYPES: Mapping[str, str] = {
    **{name: name for name in _SAME},
    "byte": "int",
    "short": "int",
    "integer": "int",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_ID = "delta.columnMapping.id"
_PHYSICAL = "delta.columnMapping.physicalName"
_NESTED = "delta.columnMapping.nested.ids"
# First field id for fields without one; the column mapping of a log never reaches it.
_FIRST_OWN_ID = 1 << 30


@dataclass(frozen=True, slots=True)
class Column:
    """A top-level column."""

    id: int
    name: str
    physical: str
    type: Any


@dataclass(frozen=True, slots=True)
class Columns:
    """An Iceberg schema and its name mapping."""

    top: tuple[Column, ...]
    mapping: Sequence[Mapping[str, Any]]
    last_id: int
    ids_by_name: Mapping[str, int]
    dropped: Mapping[str, int]

    @property
    def schema(self) -> dict[str, Any]:
        """Return the schema as in Iceberg's metadata.

        All fields are optional: a missing value is null.
        """
        fields = [
            {"id": each.id, "name": each.name, "required": False, "type": each.type}
            for each in self.top
        ]
        return {"type": "struct", "schema-id": 0, "fields": fields}

    @property
    def field_ids(self) -> dict[str, int]:
        """Return field ids by path of the field in data files. A null character separates levels."""
        return dict(_field_ids(self.mapping, ()))

    @property
    def mapping_text(self) -> str:
        """Return the name mapping in the form of the table property.

        It includes dropped fields, because PyIceberg can't read a file that contains an unnamed
        field.
        """
        mapping = orjson.loads(orjson.dumps(self.mapping))
        for path, id_ in sorted(self.dropped.items(), key=lambda item: item[0].count("\0")):
            *parents, name = path.split("\0")
            _fields_of(mapping, parents).append({"field-id": id_, "names": [name]})
        return orjson.dumps(mapping).decode()

    @property
    def ambiguous_names(self) -> list[str]:
        """Return names of columns that data files might use for another field."""
        files = {**self.dropped, **self.field_ids}
        found = (path for path, id_ in self.ids_by_name.items() if files.get(path, id_) != id_)
        return [path.rpartition("\0")[2] for path in found]

    def with_dropped(self, paths: Iterable[str]) -> Columns:
        """Return the same columns, plus fields that only data files contain."""
        new = sorted(set(paths) - self.dropped.keys() - self.field_ids.keys())
        used = (*self.dropped.values(), *self.field_ids.values())
        first = _next_own_id(used)
        ids = {path: number for number, path in enumerate(new, first)}
        return replace(self, dropped={**self.dropped, **ids})


def columns_of(schema_string: str, known: Mapping[str, int], last_id: int) -> Columns:
    """Translate a Delta schema."""
    fields = orjson.loads(schema_string)["fields"]
    below = (id_ for id_ in (last_id, *known.values()) if id_ < _FIRST_OWN_ID)
    is_mapped = any(_ID in (each.get("metadata") or {}) for each in fields)
    translation = _Translation(dict(known), max(below, default=0), is_mapped)
    top, mapping = translation.top(fields)
    field_ids = dict(_field_ids(mapping, ()))
    dropped = {path: id_ for path, id_ in known.items() if path not in field_ids}
    highest = max(field_ids.values(), default=0)
    return Columns(top, mapping, max(translation.last_id, highest), translation.ids_by_name, dropped)


def field_ids_in(mapping_text: str | None) -> dict[str, int]:
    """Recover `Columns.field_ids` from the text of a name mapping."""
    return dict(_field_ids(orjson.loads(mapping_text), ())) if mapping_text else {}


def names_in(mapping_text: str | None) -> set[tuple[str, int]]:
    """Return all names in a name mapping, by path, with their field ids."""
    return set(_names(orjson.loads(mapping_text), ())) if mapping_text else set()


def join_path(levels: Sequence[str]) -> str:
    """Return the path of a field."""
    return "\0".join(levels)


@dataclass
class _Translation:
    known: dict[str, int]
    last_id: int
    is_mapped: bool
    ids_by_name: dict[str, int] = field(default_factory=dict)

    def top(self, fields: Sequence[Mapping[str, Any]]) -> tuple[tuple[Column, ...], list[Any]]:
        columns, mapping = [], []
        for value, place in self._struct(fields, ()):
            physical = str(place["names"][0])
            columns.append(Column(value["id"], value["name"], physical, value["type"]))
            mapping.append(place)
        return tuple(columns), mapping

    def _struct(
        self, fields: Sequence[Mapping[str, Any]], parents: Sequence[str]
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Return each field for the schema and for the name mapping."""
        for value in fields:
            metadata = value.get("metadata") or {}
            physical = metadata.get(_PHYSICAL, value["name"])
            levels = (*parents, physical)
            id_ = self._id(levels, metadata.get(_ID))
            assigned = {
                join_path((*parents, *path.split("."))): number
                for path, number in metadata.get(_NESTED, {}).items()
            }
            self.known |= assigned
            self.ids_by_name[join_path((*parents, value["name"]))] = id_
            type_, nested = self._type(value["type"], levels, value["name"])
            place = {
                "field-id": id_,
                "names": [physical],
                **({"fields": nested} if nested else {}),
            }
            yield {"id": id_, "name": value["name"], "required": False, "type": type_}, place

    def _type(self, value: Any, levels: Sequence[str], name: str) -> tuple[Any, list[Any]]:
        """Return a type, and its fields in the name mapping."""
        if isinstance(value, str):
            return _primitive(value, name), []
        if value["type"] == "struct":
            pairs = list(self._struct(value["fields"], levels))
            return {"type": "struct", "fields": [each for each, _ in pairs]}, [
                place for _, place in pairs
            ]
        if value["type"] == "array":
            part, place = self._part(value["elementType"], levels, "element", name)
            return {"type": "list", **part, "element-required": False}, [place]
        if value["type"] == "map":
            key, key_place = self._part(value["keyType"], levels, "key", name)
            item, item_place = self._part(value["valueType"], levels, "value", name)
            return {"type": "map", **key, **item, "value-required": False}, [key_place, item_place]
        raise _unknown(str(value["type"]), name)

    def _part(
        self, value: Any, parents: Sequence[str], role: str, name: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the element of a list, or the key or value of a map."""
        levels = (*parents, role)
        id_ = self._id(levels, None)
        type_, nested = self._type(value, levels, name)
        place = {"field-id": id_, "names": [role], **({"fields": nested} if nested else {})}
        return {f"{role}-id": id_, role: type_}, place

    def _id(self, levels: Sequence[str], given: int | None) -> int:
        """Return the id from the log or from an earlier conversion, or assign a new one."""
        found = self.known.get(join_path(levels)) if given is None else int(given)
        if found is None:
            found = _next_own_id(self.known.values()) if self.is_mapped else self.last_id + 1
            self.known[join_path(levels)] = found
        if found < _FIRST_OWN_ID:
            self.last_id = max(self.last_id, found)
        return found


def _next_own_id(used: Iterable[int]) -> int:
    return max((*used, _FIRST_OWN_ID - 1)) + 1


def _fields_of(mapping: list[Any], parents: Sequence[str]) -> list[Any]:
    """Return the fields of a name mapping below a path; missing parents are not created."""
    fields = mapping
    for parent in parents:
        place: dict[str, Any] = next((each for each in fields if parent in each["names"]), {})
        fields = place.setdefault("fields", [])
    return fields


def _primitive(name: str, column: str) -> str:
    if name in _TYPES:
        return _TYPES[name]
    if match := _DECIMAL.fullmatch(name):
        return f"decimal({match[1]}, {match[2]})"
    raise _unknown(name, column)


def _unknown(type_: str, column: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"column '{column}' of the Delta table is of type {type_}, which Iceberg does not support"
    )


def _field_ids(
    mapping: Sequence[Mapping[str, Any]], parents: Sequence[str]
) -> Iterator[tuple[str, int]]:
    for place in mapping:
        levels = (*parents, place["names"][0])
        yield join_path(levels), place["field-id"]
        yield from _field_ids(place.get("fields", ()), levels)


def _names(mapping: Sequence[Mapping[str, Any]], parents: Sequence[str]) -> Iterator[tuple[str, int]]:
    for place in mapping:
        for name in place["names"]:
            levels = (*parents, name)
            yield join_path(levels), place["field-id"]
            yield from _names(place.get("fields", ()), levels)
