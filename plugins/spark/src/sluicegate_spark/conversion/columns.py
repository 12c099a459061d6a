"""A Delta table's schema as an Iceberg one, whose field ids tell the columns of the data files.

Sources: Delta protocol, "Column Mapping" and "Schema Serialization Format"; Iceberg specification,
"Schemas" and "Column Projection" (files without field ids are read by a name mapping).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Column:
    """A top-level column.

    Attributes:
        physical: What data files, statistics and partition values call it.
        type: Iceberg's, as its schema has it.
    """

    id: int
    name: str
    physical: str
    type: Any


@dataclass(frozen=True, slots=True)
class Columns:
    """An Iceberg schema.

    Attributes:
        top: Its columns.
        mapping: The name mapping: what data files without field ids call the columns.
        last_id: The highest field id that was ever given.
    """

    top: tuple[Column, ...]
    mapping: Sequence[Mapping[str, Any]]
    last_id: int

    @property
    def schema(self) -> dict[str, Any]:
        """As Iceberg's metadata has it. All is optional: what a file lacks is null."""
        fields = [
            {"id": each.id, "name": each.name, "required": False, "type": each.type}
            for each in self.top
        ]
        return {"type": "struct", "schema-id": 0, "fields": fields}

    @property
    def places(self) -> dict[str, int]:
        """Field ids by the paths of the fields in data files, levels joined by a null character."""
        return dict(_places(self.mapping, ()))

    @property
    def mapping_text(self) -> str:
        """The name mapping as the table property has it."""
        return orjson.dumps(self.mapping).decode()


def columns_of(schema_string: str, known: Mapping[str, int], last_id: int) -> Columns:
    """Translate a Delta schema.

    Args:
        schema_string: As the log has it.
        known: Field ids that were given before, as `Columns.places` has them.
        last_id: The highest id that was ever given, by either table.

    Raises:
        UnsupportedOperation: A column is of a type that Iceberg does not have.
    """
    translation = _Translation(dict(known), last_id)
    top, mapping = translation.top(orjson.loads(schema_string)["fields"])
    return Columns(top, mapping, translation.last_id)


def places_in(mapping_text: str | None) -> dict[str, int]:
    """What `Columns.places` was, of a name mapping's text."""
    return dict(_places(orjson.loads(mapping_text), ())) if mapping_text else {}


def joined(levels: Sequence[str]) -> str:
    """The path of a field."""
    return "\0".join(levels)


@dataclass
class _Translation:
    known: dict[str, int]
    last_id: int
    nested: Mapping[str, int] = field(default_factory=dict)

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
        """Each field in the schema, and in the name mapping."""
        for value in fields:
            metadata = value.get("metadata") or {}
            physical = metadata.get(_PHYSICAL, value["name"])
            levels = (*parents, physical)
            id_ = self._id(levels, metadata.get(_ID))
            nested = {
                joined((*parents, *path.split("."))): number
                for path, number in metadata.get(_NESTED, {}).items()
            }
            self.known |= nested
            type_, places = self._type(value["type"], levels, value["name"])
            place = {"field-id": id_, "names": [physical], **({"fields": places} if places else {})}
            yield {"id": id_, "name": value["name"], "required": False, "type": type_}, place

    def _type(self, value: Any, levels: Sequence[str], name: str) -> tuple[Any, list[Any]]:
        """A type, and its fields in the name mapping."""
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
        """The element of a list, the key or the value of a map."""
        levels = (*parents, role)
        id_ = self._id(levels, None)
        type_, places = self._type(value, levels, name)
        place = {"field-id": id_, "names": [role], **({"fields": places} if places else {})}
        return {f"{role}-id": id_, role: type_}, place

    def _id(self, levels: Sequence[str], given: int | None) -> int:
        """The id that the log gives, that an earlier conversion gave, or a new one."""
        found = self.known.get(joined(levels)) if given is None else int(given)
        if found is None:
            found = self.last_id + 1
        self.last_id = max(self.last_id, found)
        return found


def _primitive(name: str, column: str) -> str:
    if name in _TYPES:
        return _TYPES[name]
    if match := _DECIMAL.fullmatch(name):
        return f"decimal({match[1]}, {match[2]})"
    raise _unknown(name, column)


def _unknown(type_: str, column: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"column '{column}' of the Delta table is of type {type_}, which Iceberg does not have"
    )


def _places(mapping: Sequence[Mapping[str, Any]], parents: Sequence[str]) -> Iterator[tuple[str, int]]:
    for place in mapping:
        levels = (*parents, place["names"][0])
        yield joined(levels), place["field-id"]
        yield from _places(place.get("fields", ()), levels)
