"""Sets of files made by hand, without a log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from sluicegate.tables.predicates import from_hints, prune
from sluicegate.tables.snapshot import FILE_SCHEMA, FileChunk, FileSet, TableMetadata


def file_set(files: Sequence[tuple[str, str | None]], *, chunk_rows: int = 1 << 16) -> FileSet:
    """Files by their partition values and statistics, JSON texts both; paths are their numbers."""
    rows = [
        {"path": str(number), "size": 1, "partition_values": partition, "stats": stats}
        for number, (partition, stats) in enumerate(files)
    ]
    batches = [
        pa.RecordBatch.from_pylist(rows[start : start + chunk_rows], schema=FILE_SCHEMA)
        for start in range(0, len(rows), chunk_rows)
    ]
    return FileSet.of(map(FileChunk.of, batches))


def schema_field(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    """A field of a table's schema."""
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def table_metadata(
    fields: Sequence[Mapping[str, Any]], partitions: Sequence[str] = (), **configuration: str
) -> TableMetadata:
    """Metadata of a table with these columns."""
    schema = json.dumps({"type": "struct", "fields": list(fields)})
    return TableMetadata("table", schema, tuple(partitions), configuration)


def kept(
    files: FileSet,
    metadata: TableMetadata,
    *sql_hints: str,
    json_hint: str | None = None,
) -> set[int]:
    """The numbers of the files that hints leave."""
    predicate = from_hints(json_hint, sql_hints)
    left = files if predicate is None else prune(files, metadata, predicate)
    return {int(path) for batch in left.batches(1000) for path in batch.column("path").to_pylist()}
