"""Avro schemas of manifest lists and manifests (Iceberg specification, "Manifests")."""

from __future__ import annotations

import re
from itertools import starmap
from typing import Any

from sluicegate.protocols.iceberg_rest.planning.specs import spec_without
from sluicegate.tables.iceberg.shape import IcebergShape

AvroSchema = dict[str, Any]

_DECIMAL = re.compile(r"decimal\((\d+), (\d+)\)")
_FIXED = re.compile(r"fixed\[(\d+)\]")
_PRIMITIVES: dict[str, Any] = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    "time": {"type": "long", "logicalType": "time-micros"},
    "timestamp_ns": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    "timestamptz_ns": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
}


def manifest_list_schema() -> AvroSchema:
    """The schema of a manifest list, without the optional summaries of partitions."""
    counts = ((504, "added_files"), (505, "existing_files"), (506, "deleted_files"))
    rows = ((512, "added_rows"), (513, "existing_rows"), (514, "deleted_rows"))
    return _record(
        "manifest_file",
        _field(500, "manifest_path", "string"),
        _field(501, "manifest_length", "long"),
        _field(502, "partition_spec_id", "int"),
        _field(517, "content", "int"),
        _field(515, "sequence_number", "long"),
        _field(516, "min_sequence_number", "long"),
        _field(503, "added_snapshot_id", "long"),
        *(_field(number, f"{name}_count", "int") for number, name in counts),
        *(_field(number, f"{name}_count", "long") for number, name in rows),
    )


def manifest_schema(shape: IcebergShape, spec: int | None = None) -> AvroSchema:
    """The schema of the manifests of a table."""
    fields = partition_types(shape, spec_without((), shape) if spec is None else spec)
    data_file = _record(
        "r2",
        _field(134, "content", "int"),
        _field(100, "file_path", "string"),
        _field(101, "file_format", "string"),
        _field(102, "partition", _record("r102", *starmap(_partition, fields))),
        _field(103, "record_count", "long"),
        _field(104, "file_size_in_bytes", "long"),
        _optional(125, "lower_bounds", _bounds_by_id(126, 127)),
        _optional(128, "upper_bounds", _bounds_by_id(129, 130)),
        _optional(143, "referenced_data_file", "string"),
        _optional(144, "content_offset", "long"),
        _optional(145, "content_size_in_bytes", "long"),
    )
    return _record(
        "manifest_entry",
        _field(0, "status", "int"),
        _optional(1, "snapshot_id", "long"),
        _optional(3, "sequence_number", "long"),
        _optional(4, "file_sequence_number", "long"),
        _field(2, "data_file", data_file),
    )


def _bounds_by_id(key: int, value: int) -> AvroSchema:
    """A map with integers as keys, as the specification writes it."""
    entry = _record(f"k{key}_v{value}", _field(key, "key", "int"), _field(value, "value", "bytes"))
    return {"type": "array", "items": entry, "logicalType": "map"}


def partition_types(shape: IcebergShape, spec: int) -> list[tuple[int, str]]:
    """The ids and primitive types of the fields of a partition."""
    if shape.own is None:
        return [(field.id, str(field.source.type)) for field in shape.partition_fields]
    [found] = [each for each in shape.own.specs if each.id == spec]
    return [(field.id, field.type) for field in found.fields]


def _partition(id_: int, type_: str) -> AvroSchema:
    """Readers find fields by their ids, so the name need not be that of the column."""
    return _optional(id_, f"partition_{id_}", _avro_type(id_, type_))


def _avro_type(id_: int, iceberg: str) -> Any:
    if iceberg == "uuid":
        return {"type": "fixed", "name": f"uuid_{id_}", "size": 16, "logicalType": "uuid"}
    if fixed := _FIXED.fullmatch(iceberg):
        return {"type": "fixed", "name": f"fixed_{id_}", "size": int(fixed[1])}
    digits = decimal_digits(iceberg)
    if digits is None:
        return _PRIMITIVES[iceberg]
    precision, scale = digits
    return {
        "type": "fixed",
        "name": f"decimal_{id_}",
        "size": decimal_bytes(precision),
        "logicalType": "decimal",
        "precision": precision,
        "scale": scale,
    }


def decimal_digits(iceberg: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type; `None` for others."""
    decimal = _DECIMAL.fullmatch(iceberg)
    return None if decimal is None else (int(decimal[1]), int(decimal[2]))


def decimal_bytes(precision: int) -> int:
    """The number of bytes that unscaled values of a precision need, with their sign."""
    largest: int = 10**precision - 1
    return (largest.bit_length() + 8) // 8


def _record(name: str, *fields: AvroSchema) -> AvroSchema:
    return {"type": "record", "name": name, "fields": list(fields)}


def _field(number: int, name: str, type_: Any) -> AvroSchema:
    return {"name": name, "type": type_, "field-id": number}


def _optional(number: int, name: str, type_: Any) -> AvroSchema:
    return {"name": name, "type": ["null", type_], "default": None, "field-id": number}
