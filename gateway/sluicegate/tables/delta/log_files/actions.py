"""File actions of the log as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.delta.log_files.jsontext import dump
from sluicegate.tables.delta.log_files.names import Sidecar
from sluicegate.tables.delta.log_files.paths import check_servable, literal_paths, other_spellings
from sluicegate.tables.snapshot import FILE_SCHEMA, TableMetadata, TableProtocol

# The content of an add, remove or cdc action: the columns of a snapshot's files, null if the action
# omits them, and the columns that only changes have.
ACTION_SCHEMA = pa.schema(
    [
        *(field.with_nullable(field.name != "path") for field in FILE_SCHEMA),
        pa.field("data_change", pa.bool_(), nullable=False),
        # Position in the commit: of two actions on one file, the later one counts.
        pa.field("line", pa.int64(), nullable=False),
    ]
)
_SPELLED = ACTION_SCHEMA.get_field_index("spelled_path")


@dataclass(frozen=True, slots=True)
class Actions:
    """The actions of one commit, compaction or JSON checkpoint; file actions have `ACTION_SCHEMA`.

    Attributes:
        version: The table version, the last one of a compaction.
        in_commit_timestamp: Epoch milliseconds, if the commit has one.
        sidecars: The files with the rest of the file actions (v2 checkpoints only).
        no_op: Whether the commit reports that it changed no row, regardless of its file actions.
        repeats: Whether there are several protocol actions or several metadata actions.
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
    repeats: bool = False


Row = tuple[Any, ...]


def action_row(action: Mapping[str, Any], line: int) -> Row:
    """The values of `ACTION_SCHEMA` in an action of the log. Its path is still a URI.

    Raises:
        KeyError: It has no path.
    """
    get = action.get
    return (
        action["path"],
        get("size"),
        # The modification time of an add corresponds to the deletion time of a remove.
        get("modificationTime", get("deletionTimestamp")),
        _partition_text(get("partitionValues")),
        get("stats"),
        get("deletionVector"),
        _text(get("tags")),
        get("baseRowId"),
        get("defaultRowCommitVersion"),
        get("clusteringProvider"),
        None,  # the original form of the path is derived from the column of paths
        get("dataChange", True),
        line,
    )


def action_columns(rows: Sequence[Row], root: str) -> pa.RecordBatch:
    """The rows, at least one, as columns of `ACTION_SCHEMA`, with literal paths.

    Raises:
        pa.ArrowException: A value has a different type than in the log.
    """
    columns = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), ACTION_SCHEMA, strict=True)
    ]
    spelled, columns[0] = columns[0], literal_paths(columns[0], root)
    columns[_SPELLED] = other_spellings(spelled, columns[0])
    return pa.RecordBatch.from_arrays(columns, schema=ACTION_SCHEMA)


def joined_actions(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches of `ACTION_SCHEMA` as one.

    Raises:
        pa.ArrowInvalid: A column contains more than 2 GB of text.
    """
    if len(batches) < 2:
        return batches[0] if batches else _no_actions()
    return one_batch(pa.Table.from_batches(batches))


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """The rows of a table, at least one, as one batch.

    Raises:
        pa.ArrowInvalid: A column contains more than 2 GB of text, which Arrow would split.
    """
    batches = table.combine_chunks().to_batches()
    if len(batches) != 1:
        raise pa.ArrowInvalid("a column contains more than 2 GB of text")
    return batches[0]


def check_sizes(sizes: pa.Int64Array, source: str) -> None:
    """Reject files with impossible sizes.

    Raises:
        TableUnreadable: A size is negative. The message starts with `source`.
    """
    least = pc.min(sizes).as_py()
    if least is not None and least < 0:
        raise TableUnreadable(f"{source} names a file with a negative size, {least}")


def check_added_files(paths: pa.StringArray, sizes: pa.Int64Array, source: str) -> None:
    """Reject files that cannot be shared, or have no size.

    Args:
        paths: Literal paths.
        sizes: Sizes in bytes.
        source: The file of the log that adds them.

    Raises:
        TableUnreadable: A file has no path, no size, a negative size, or a path that no link can
            address.
    """
    if paths.null_count or sizes.null_count:
        raise TableUnreadable(f"{source} adds a file without a path or a size")
    check_sizes(sizes, source)
    check_servable(paths, source)


def as_files(actions: pa.RecordBatch, source: str) -> pa.RecordBatch:
    """Add actions as columns of `FILE_SCHEMA`. Missing partition values mean no partition.

    Raises:
        TableUnreadable: An add has no path, no size, or a negative size. The message starts with
            `source`.
    """
    check_added_files(actions.column("path"), actions.column("size"), source)
    columns = {name: actions.column(name) for name in FILE_SCHEMA.names}
    partitions = columns["partition_values"]
    if partitions.null_count:
        columns["partition_values"] = partitions.cast(pa.string()).fill_null("{}").dictionary_encode()
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=FILE_SCHEMA)


@cache
def _no_actions() -> pa.RecordBatch:
    """A shared empty batch, because most commits lack most kinds of actions."""
    return pa.RecordBatch.from_arrays(
        [pa.nulls(0, field.type) for field in ACTION_SCHEMA], schema=ACTION_SCHEMA
    )


def _partition_text(values: Mapping[str, Any] | None) -> str | None:
    if values is not None and not all(type(each) is str or each is None for each in values.values()):
        raise TypeError("a partition value is not a string")
    return _text(values)


def _text(values: Mapping[str, Any] | None) -> str | None:
    return None if values is None else dump(values)
