"""Delta schemas of Arrow's, with column mapping on request (Delta protocol, "Column Mapping")."""

from __future__ import annotations

from itertools import count
from typing import Any

import pyarrow as pa

_MAPPING = "delta.columnMapping"
_PRIMITIVES = {
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}


class SchemaMapping:
    """A schema as the log has it and as data files have it."""

    def __init__(self, schema: pa.Schema, mode: str | None) -> None:
        self._mapped, self._ids = mode is not None, count(1)
        pairs = [self._field(field) for field in schema]
        self.delta: dict[str, Any] = {"type": "struct", "fields": [delta for delta, _ in pairs]}
        self.physical = pa.schema([physical for _, physical in pairs])
        last = next(self._ids) - 1
        self.configuration = (
            {f"{_MAPPING}.mode": mode, f"{_MAPPING}.maxColumnId": str(last)} if mode else {}
        )

    def _field(self, field: pa.Field) -> tuple[dict[str, Any], pa.Field]:
        number = next(self._ids) if self._mapped else 0
        kind, physical = self._kind(field.type)
        delta = {"name": field.name, "type": kind, "nullable": True, "metadata": {}}
        if not self._mapped:
            return delta, pa.field(field.name, physical)
        name = f"col-{number:08x}"
        delta["metadata"] = {f"{_MAPPING}.id": number, f"{_MAPPING}.physicalName": name}
        return delta, pa.field(name, physical, metadata={"PARQUET:field_id": str(number)})

    def _kind(self, kind: pa.DataType) -> tuple[Any, pa.DataType]:
        if pa.types.is_struct(kind):
            pairs = [self._field(field) for field in kind]
            return (
                {"type": "struct", "fields": [delta for delta, _ in pairs]},
                pa.struct([physical for _, physical in pairs]),
            )
        if pa.types.is_list(kind):
            delta, physical = self._kind(kind.value_type)
            array = {"type": "array", "elementType": delta, "containsNull": True}
            return array, pa.list_(pa.field(kind.value_field.name, physical))
        if pa.types.is_map(kind):
            (key, key_kind), (item, item_kind) = self._kind(kind.key_type), self._kind(kind.item_type)
            delta = {"type": "map", "keyType": key, "valueType": item, "valueContainsNull": True}
            return delta, pa.map_(key_kind, item_kind)
        if pa.types.is_decimal(kind):
            return f"decimal({kind.precision},{kind.scale})", kind
        return _PRIMITIVES[kind], kind


def renamed(value: Any, kind: pa.DataType, physical: pa.DataType) -> Any:
    """A Python value of one type as one of another that differs in the names of fields only."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {
            there.name: renamed(value[here.name], here.type, there.type)
            for here, there in zip(kind, physical, strict=True)
        }
    if pa.types.is_list(kind):
        return [renamed(part, kind.value_type, physical.value_type) for part in value]
    if pa.types.is_map(kind):
        return [
            (
                renamed(key, kind.key_type, physical.key_type),
                renamed(item, kind.item_type, physical.item_type),
            )
            for key, item in value
        ]
    return value
