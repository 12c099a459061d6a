"""Schemas and files of Delta tables, as in their logs."""

from __future__ import annotations

from typing import Any

import orjson
import pyarrow as pa

from sluicegate.formats import FILE_SCHEMA, FileChunk, FileSet

VECTOR = {"storageType": "i", "pathOrInlineDv": 'x"y', "sizeInBytes": 3, "cardinality": 1}


def delta_field(name: str, type_: Any, **metadata: Any) -> dict[str, Any]:
    prefixed = {f"delta.columnMapping.{key}": value for key, value in metadata.items()}
    return {"name": name, "type": type_, "nullable": True, "metadata": prefixed}


def delta_schema(*fields: dict[str, Any]) -> str:
    return orjson.dumps({"type": "struct", "fields": fields}).decode()


def files_of(*rows: dict[str, Any]) -> FileSet:
    columns = {
        field.name: pa.array([row.get(field.name) for row in rows], field.type)
        for field in FILE_SCHEMA
        if field.name != "partition_values"
    }
    columns["partition_values"] = pa.array(["{}"] * len(rows)).dictionary_encode()
    arrays = [columns[field.name] for field in FILE_SCHEMA]
    return FileSet.of([FileChunk.of(pa.RecordBatch.from_arrays(arrays, schema=FILE_SCHEMA))])
