"""Writes checkpoints of a converted table's log, so that readers need not replay every commit.

Source: Delta protocol, "Checkpoints", "Checkpoint Schema" and "Last Checkpoint File Schema".
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from tempfile import TemporaryFile
from typing import IO, Any, Final

import obstore
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from sluicegate.api import ObjectDirectory
from sluicegate.formats import DELETION_VECTOR, Snapshot, TableMetadata, TableProtocol
from sluicegate_spark.conversion.to_delta.column_bounds import ColumnBounds
from sluicegate_spark.conversion.to_delta.delta_log import add_lines, commit_header
from sluicegate_spark.conversion.to_delta.tombstones import TOMBSTONE, tombstones

log = logging.getLogger(__name__)

INTERVAL: Final = "delta.checkpointInterval"
_DEFAULT_INTERVAL = 10  # Delta's default
_TEXTS = pa.map_(pa.string(), pa.string())
_FORMAT = pa.struct([("provider", pa.string()), ("options", _TEXTS)])
CHECKPOINT: Final = pa.schema(
    {
        "protocol": pa.struct(
            [
                ("minReaderVersion", pa.int32()),
                ("minWriterVersion", pa.int32()),
                ("readerFeatures", pa.list_(pa.string())),
                ("writerFeatures", pa.list_(pa.string())),
            ]
        ),
        "metaData": pa.struct(
            [
                ("id", pa.string()),
                ("name", pa.string()),
                ("description", pa.string()),
                ("format", _FORMAT),
                ("schemaString", pa.string()),
                ("partitionColumns", pa.list_(pa.string())),
                ("configuration", _TEXTS),
                ("createdTime", pa.int64()),
            ]
        ),
        "txn": pa.struct(
            [("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]
        ),
        "add": pa.struct(
            [
                ("path", pa.string()),
                ("partitionValues", _TEXTS),
                ("size", pa.int64()),
                ("modificationTime", pa.int64()),
                ("dataChange", pa.bool_()),
                ("stats", pa.string()),
                ("tags", _TEXTS),
                ("deletionVector", DELETION_VECTOR),
            ]
        ),
        "remove": TOMBSTONE,
    }
)

# A kind of action, and some actions of this kind.
_Actions = tuple[str, pa.StructArray]


async def checkpoint_if_due(
    location: str,
    version: int,
    configuration: Mapping[str, str],
    write: Callable[[datetime], Awaitable[None]],
) -> None:
    """Write the checkpoint of a committed version, if one is due.

    Errors are logged, not raised, because the commit is already valid: without this checkpoint,
    readers are only slower until the next one.
    """
    try:
        if version % int(configuration.get(INTERVAL, _DEFAULT_INTERVAL)) == 0:
            await write(datetime.now(UTC))
    except Exception as error:
        why = type(error).__name__
        log.warning("version %d of the Delta table %s has no checkpoint: %s", version, location, why)


def write_checkpoint(directory: ObjectDirectory, version: int, state: Snapshot, now: datetime) -> None:
    """Write the checkpoint of a version as one atomic object, then the file that refers to it."""
    removed = (("remove", each) for each in tombstones(directory, version, now))
    with TemporaryFile() as file:
        count = _write(file, chain(_live(state), removed))
        pointer = pointer_of(version, count, file.tell(), len(state.files))
        file.seek(0)
        key = directory.key(f"_delta_log/{version:020}.checkpoint.parquet")
        obstore.put(directory.store, key, file)
    content = orjson.dumps(pointer)
    obstore.put(directory.store, directory.key("_delta_log/_last_checkpoint"), content)


def pointer_of(version: int, rows: int, size: int, files: int, parts: int = 1) -> dict[str, int]:
    """Return the content of `_last_checkpoint`."""
    several = {"parts": parts} if parts > 1 else {}
    pointer = {"version": version, "size": rows, "sizeInBytes": size, "numOfAddFiles": files}
    return pointer | several


def header_actions(protocol: TableProtocol, metadata: TableMetadata) -> dict[str, Any]:
    """Return protocol and metadata as actions, by kind."""
    _, *lines = commit_header({}, protocol, metadata).splitlines()
    return {kind: action for line in lines for kind, action in orjson.loads(line).items()}


def _live(state: Snapshot) -> Iterator[_Actions]:
    """Return protocol, metadata and files in the form of a commit."""
    for kind, action in header_actions(state.protocol, state.metadata).items():
        yield kind, pa.array([action], CHECKPOINT.field(kind).type)
    for batch in add_lines(state.files, ColumnBounds.of(state.metadata)):
        files = (orjson.loads(line)["add"] for line in batch.splitlines())
        unchanged = [file | {"dataChange": False} for file in files]
        yield "add", pa.array(unchanged, CHECKPOINT.field("add").type)


def _write(file: IO[bytes], batches: Iterable[_Actions]) -> int:
    """Write each action as one row, and return the number of rows."""
    count = 0
    with pq.ParquetWriter(file, CHECKPOINT) as writer:
        for kind, actions in batches:
            if not len(actions):
                continue  # no empty row groups
            columns = [
                actions if field.name == kind else pa.nulls(len(actions), field.type)
                for field in CHECKPOINT
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=CHECKPOINT))
            count += len(actions)
    return count
