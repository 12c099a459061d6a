"""Translates the schema of a snapshot, which is a Delta schema, into Iceberg fields with ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.tables.column_mapping import FIELD_ID, PHYSICAL_NAME, is_mapped
from sluicegate.tables.iceberg.delta_types import can_widen, kind_of, primitive_type
from sluicegate.tables.iceberg.shape import FIRST_HIDDEN_ID, Field, ListOf, MapOf, Struct, Type
from sluicegate.tables.snapshot import TableMetadata

AssignId = Callable[[int, str, str], int]
"""Returns the id of a field that has none, by its parent's id (0 for columns), name and kind."""

ROOT = 0
# Larger ids are those of hidden columns (`IcebergShape.hidden`), or reserved by Iceberg.
_MAX_ID = FIRST_HIDDEN_ID - 1
_MAX_SHOWN = 100
_CONTAINERS = ("array", "map", "struct")
_NESTED_IDS = "delta.columnMapping.nested.ids"
_MALFORMED_CHANGES = "has malformed changes of its type"


def translated(metadata: TableMetadata, assign: AssignId) -> Struct:
    """The columns with their Iceberg types and ids."""
    partitions = frozenset(metadata.partition_columns)
    translation = _Translation(is_mapped(metadata), partitions, assign, metadata.field_ids)
    return translation.struct(orjson.loads(metadata.schema_string), _Place(ROOT))


def refused(column: str, reason: str) -> UnsupportedOperation:
    """The error for a column that Iceberg clients cannot read."""
    return UnsupportedOperation(
        f"Iceberg clients cannot read the table: its column '{column[:_MAX_SHOWN]}' {reason}"
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a field is."""

    parent: int
    shown: str = ""
    nested: Mapping[str, int] = field(default_factory=dict)
    nested_path: str = ""


@dataclass(frozen=True, slots=True)
class _Translation:
    """Translates one schema."""

    mapped: bool
    partition_columns: frozenset[str]
    assign: AssignId
    field_ids: Mapping[str, int] | None

    def struct(self, struct: Any, place: _Place) -> Struct:
        return Struct(tuple(self._field(each, place) for each in struct["fields"]))

    def _field(self, declared: Any, place: _Place) -> Field:
        name, details = declared["name"], declared.get("metadata") or {}
        mapping = details if self.mapped else {}
        physical = mapping.get(PHYSICAL_NAME, name)
        shown = f"{place.shown}.{name}" if place.shown else name
        _check_changes(shown, details.get("delta.typeChanges"))
        nested = mapping.get(_NESTED_IDS) or {}
        if not isinstance(nested, Mapping):
            raise refused(shown, "has malformed nested ids")
        inner = _Place(place.parent, shown, nested, physical)
        own = self._own_id(shown, mapping.get(FIELD_ID))
        id_, type_ = self._typed(declared["type"], inner, physical, own)
        # Only columns: Delta writers do not enforce constraints on nested fields everywhere. Clients
        # look for required columns in files, which do not contain partition columns.
        required = place.parent == ROOT and declared.get("nullable") is False
        comment = details.get("comment")
        return Field(
            id=id_,
            name=name,
            type=type_,
            physical_name=physical,
            required=required and name not in self.partition_columns,
            doc=comment if isinstance(comment, str) else None,
        )

    def _part(self, name: str, declared: Any, place: _Place, *, required: bool = False) -> Field:
        """The element of a list, or the key or value of a map."""
        path = f"{place.nested_path}.{name}"
        inner = _Place(place.parent, f"{place.shown}.{name}", place.nested, path)
        own = self._own_id(inner.shown, place.nested.get(path))
        if self.mapped and own is None and isinstance(declared, str) and name != "key":
            # Files with some ids are read by ids only, so these values would be read as null.
            raise refused(place.shown, "is a list or map whose values have no field ids in the files")
        id_, type_ = self._typed(declared, inner, name, own)
        return Field(id_, name, type_, name, required=required)

    def _own_id(self, shown: str, mapped: Any) -> Any:
        """The id that the table assigned to a field, if any."""
        if self.field_ids is None:
            return mapped
        if shown not in self.field_ids:
            # Clients would look for another id in the files, and read null or another column.
            raise refused(shown, "has no field id, or values that Iceberg clients would misread")
        return self.field_ids[shown]

    def _typed(self, declared: Any, place: _Place, name: str, own: Any) -> tuple[int, Type]:
        """The id and type of a field that may have an id in the table."""
        kind = declared if isinstance(declared, str) else declared["type"]
        nested = kind in _CONTAINERS and not isinstance(declared, str)
        primitive = None if nested else primitive_type(kind)
        if primitive is None and not nested:
            raise refused(place.shown, f"has the type {kind[:_MAX_SHOWN]}, which Iceberg lacks")
        if own is None:
            own = self.assign(place.parent, name, kind if primitive is None else kind_of(primitive))
        elif type(own) is not int or not 0 < own <= _MAX_ID:
            raise refused(place.shown, "has an invalid id")
        return own, primitive or self._container(
            declared, _Place(own, place.shown, place.nested, place.nested_path)
        )

    def _container(self, declared: Any, place: _Place) -> Type:
        if declared["type"] == "struct":
            return self.struct(declared, place)
        if declared["type"] == "array":
            return ListOf(self._part("element", declared["elementType"], place))
        key = self._part("key", declared["keyType"], place, required=True)
        return MapOf(key, self._part("value", declared["valueType"], place))


def _check_changes(column: str, changes: Any) -> None:
    """Check the changes of a column's type (Delta protocol, "Type Change Metadata")."""
    for change in _listed(column, changes):
        old, new = (_type_of(column, change, name) for name in ("fromType", "toType"))
        if not can_widen(old, new):
            old, new = old[:_MAX_SHOWN], new[:_MAX_SHOWN]
            raise refused(column, f"was changed from {old} to {new}, which Iceberg does not allow")


def _listed(column: str, changes: Any) -> list[Any]:
    if isinstance(changes, list | None):
        return changes or []
    raise refused(column, _MALFORMED_CHANGES)


def _type_of(column: str, change: Any, name: str) -> str:
    if isinstance(change, Mapping) and isinstance(type_ := change.get(name), str):
        return type_
    raise refused(column, _MALFORMED_CHANGES)
