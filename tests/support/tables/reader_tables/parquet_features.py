"""What Parquet files show a reader: physical types, names of nested groups, codecs, empty files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def file_features(path: Path) -> Iterator[str]:
    """The features of a data file."""
    with pq.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema
        arrow, rows = file.schema_arrow, file.read()
        if not metadata.num_rows:
            yield "data file without rows"
        for group in range(metadata.num_row_groups):
            for column in range(metadata.num_columns):
                yield f"data in {metadata.row_group(group).column(column).compression}"
    for number in range(len(schema)):
        column = schema.column(number)
        yield f"data of {column.physical_type} as {_logical(column.logical_type)}"
        for layout in ("list.element", "bag.array", "key_value.key"):
            if f".{layout}" in column.path:
                yield f"data with {layout}"
    nulls = {re.split("[<([]", str(column.type))[0] for column in rows.columns if column.null_count}
    yield from (f"nulls in data of type {kind}" for kind in nulls)
    if any(b"PARQUET:field_id" in (field.metadata or {}) for field in arrow):
        yield "data with field ids"


def checkpoint_features(path: Path) -> Iterator[str]:
    """The features of a checkpoint's columns."""
    schema = pq.read_schema(path)
    if "add" not in schema.names:
        return
    kind: pa.DataType = schema.field("add").type
    for name in ("stats", "stats_parsed", "partitionValues_parsed", "deletionVector", "tags"):
        if kind.get_field_index(name) >= 0:
            yield f"checkpoint with {name}"


def _logical(kind: Any) -> str:
    if kind.type != "TIMESTAMP":
        return str(kind.type)
    described = json.loads(kind.to_json())
    return f"{'instant' if described['isAdjustedToUTC'] else 'local time'} in {described['timeUnit']}"
