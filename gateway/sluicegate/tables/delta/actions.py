"""File actions of the log as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from sluicegate.errors import TableUnreadable
from sluicegate.tables.delta.jsontext import dump
from sluicegate.tables.delta.names import Sidecar
from sluicegate.tables.delta.paths import check_servable, literal_paths
from sluicegate.tables.snapshot import FILE_SCHEMA, TableMetadata, TableProtocol

# Rows that one chunk of a snapshot's columns has at most: what is decoded, joined or rewritten at once.
CHUNK_ROWS = 32 * 1024

# What an add, remove or cdc action says: the columns of a snapshot's files, null where the action
# leaves them out, and what only changes have.
ACTION_SCHEMA = pa.schema(
    [
        *(field.with_nullable(field.name != "path") for field in FILE_SCHEMA),
        pa.field("data_change", pa.bool_(), nullable=False),
        # Position in the commit: of two actions on one file the later counts.
        pa.field("line", pa.int64(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Actions:
    """What one commit, compaction or JSON checkpoint does; the file actions are of `ACTION_SCHEMA`.

    Attributes:
        version: The table version, the last one of a compaction.
        in_commit_timestamp: Epoch milliseconds, where the commit has one.
        sidecars: Where the rest of the file actions is (v2 checkpoints only).
        no_op: The commit says of itself that it changed no row, whatever its file actions say.
    """

    version: int
    adds: pa.RecordBatch
    removes: pa.RecordBatch
    cdc: pa.RecordBatch
    protocol: TableProtocol | None = None
    metadata: TableMetadata | None = None
    in_commit_timestamp: int | None = None
    sidecars: tuple[Sidecar, ...] = ()
    no_op: bool = False


Row = tuple[Any, ...]


def action_row(action: Mapping[str, Any], line: int) -> Row:
    """The values of `ACTION_SCHEMA` that an action of the log has; its path still is a URI.

    Raises:
        KeyError: It has no path.
    """
    get = action.get
    return (
        action["path"],
        get("size"),
        # What an add calls its modification time is, for a remove, the time of the deletion.
        get("modificationTime", get("deletionTimestamp")),
        _partition_text(get("partitionValues")),
        get("stats"),
        get("deletionVector"),
        _text(get("tags")),
        get("baseRowId"),
        get("defaultRowCommitVersion"),
        get("clusteringProvider"),
        get("dataChange", True),
        line,
    )


def action_columns(rows: Sequence[Row], root: str) -> pa.RecordBatch:
    """The rows, at least one, as columns of `ACTION_SCHEMA`, with literal paths.

    Raises:
        pa.ArrowException: A value has another type than the log's.
    """
    columns = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), ACTION_SCHEMA, strict=True)
    ]
    columns[0] = literal_paths(columns[0], root)
    return pa.RecordBatch.from_arrays(columns, schema=ACTION_SCHEMA)


def joined_actions(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches of `ACTION_SCHEMA` as one.

    Raises:
        pa.ArrowInvalid: A column holds more than 2 GB of text.
    """
    if len(batches) < 2:
        return batches[0] if batches else _no_actions()
    return one_batch(pa.Table.from_batches(batches))


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """The rows of a table, at least one, as one batch.

    Raises:
        pa.ArrowInvalid: A column holds more than 2 GB of text, which Arrow would split.
    """
    batches = table.combine_chunks().to_batches()
    if len(batches) != 1:
        raise pa.ArrowInvalid("a column holds more than 2 GB of text")
    return batches[0]


def as_files(actions: pa.RecordBatch, source: str) -> pa.RecordBatch:
    """The columns of `FILE_SCHEMA` of add actions; partition values left out are those of no partition.

    Raises:
        TableUnreadable: An add has no path or no size; `source` says where.
    """
    if actions.column("path").null_count or actions.column("size").null_count:
        raise TableUnreadable(f"{source} adds a file without a path or a size")
    check_servable(actions.column("path"), source)
    columns = {name: actions.column(name) for name in FILE_SCHEMA.names}
    partitions = columns["partition_values"]
    if partitions.null_count:
        columns["partition_values"] = partitions.cast(pa.string()).fill_null("{}").dictionary_encode()
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=FILE_SCHEMA)


@cache
def _no_actions() -> pa.RecordBatch:
    """Shared, as most commits lack most kinds of actions."""
    return pa.RecordBatch.from_arrays(
        [pa.nulls(0, field.type) for field in ACTION_SCHEMA], schema=ACTION_SCHEMA
    )


def _partition_text(values: Mapping[str, Any] | None) -> str | None:
    if values is not None and not all(type(each) is str or each is None for each in values.values()):
        raise TypeError("a partition value is no text")
    return _text(values)


def _text(values: Mapping[str, Any] | None) -> str | None:
    return None if values is None else dump(values)
