"""Reads the file actions of one file of a Delta log, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader

import pyarrow as pa

from sluicegate.api.budget import Budget
from sluicegate.api.models import CatalogTable, ObjectDirectory
from sluicegate.tables.delta.compactions import check_compaction
from sluicegate.tables.delta.log_files.actions import check_added_files
from sluicegate.tables.delta.log_files.checkpoint import added_files
from sluicegate.tables.delta.log_files.commits import action_batches, parse_actions
from sluicegate.tables.delta.log_files.names import LogFile
from sluicegate.tables.delta.log_files.paths import storage_root
from sluicegate.tables.delta.log_files.store import LogStore
from sluicegate.tables.delta.parts.version import LogPart
from sluicegate.tables.delta.replay import file_keys
from sluicegate.tables.parquet.decoding import ParquetBytes

LOG_ACTIONS = pa.schema(
    [
        # The file's path, together with the unique id of its deletion vector.
        ("key", pa.string()),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("partition_values", pa.string()),  # JSON text
        ("stats", pa.string()),
        ("has_vector", pa.bool_()),
        ("removed", pa.bool_()),
        # Position within the part: of two actions with the same key, the later one counts.
        ("line", pa.int64()),
    ]
)
"""The columns of file actions: those that convert the files of a table need. Paths are literal."""

_BUFFER = 8 * 1024 * 1024
__all__ = ["LOG_ACTIONS", "check_added_files", "read_log_part"]


def read_log_part(
    table: CatalogTable, directory: ObjectDirectory, part: LogPart
) -> Iterator[pa.RecordBatch]:
    """Read the file actions of one part of a log, without an event loop.

    Args:
        table: The table.
        directory: Its opened directory.
        part: The part.

    Yields:
        Batches of `LOG_ACTIONS`.

    Raises:
        TableUnreadable: The part is damaged.
        ObjectMissing: The part no longer exists.
        StorageError: The store doesn't respond or denies access.
    """
    store, root = LogStore(directory), storage_root(table.location)
    raw = store.open(part.name, part.size, on_loop=False)
    if part.name.endswith(".parquet"):
        for batch in added_files(ParquetBytes(raw, part.size), part.name, root, store.budget):
            yield _actions(batch, removed=False)
        return
    if part.compacted:
        yield from _compacted(raw.read(), part, root, store.budget)
        return
    for kind, batch in action_batches(BufferedReader(raw, _BUFFER), part.name, root, store.budget):
        if kind != "cdc":
            yield _actions(batch, removed=kind == "remove")


def _compacted(data: bytes, part: LogPart, root: str, budget: Budget) -> Iterator[pa.RecordBatch]:
    """Read a compaction at once: only then is it known whether it names a file twice."""
    file = LogFile(part.name, "compaction", part.version, part.version, part.size, modified=0)
    actions = parse_actions(data, file, root, budget)
    check_compaction(actions, f"the Delta log's {part.name}")
    yield _actions(actions.adds, removed=False)
    yield _actions(actions.removes, removed=True)


def _actions(batch: pa.RecordBatch, *, removed: bool) -> pa.RecordBatch:
    rows = len(batch)
    is_numbered = "line" in batch.schema.names
    columns = [
        file_keys(batch),
        *(batch.column(name) for name in ("path", "size")),
        batch.column("partition_values").cast(pa.string()),
        batch.column("stats"),
        batch.column("deletion_vector").is_valid(),
        pa.repeat(removed, rows),
        batch.column("line") if is_numbered else pa.repeat(pa.scalar(0, pa.int64()), rows),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LOG_ACTIONS)
