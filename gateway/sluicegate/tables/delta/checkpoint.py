"""Checkpoints: classic, multi-part, and v2 with sidecars (Delta protocol, "Checkpoints")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pyarrow as pa

from sluicegate.tables.delta.actions import CHUNK_ROWS, as_files
from sluicegate.tables.delta.columns import ADD_FIELDS, STATS, STATS_STRUCT, AddColumns
from sluicegate.tables.delta.commits import damaged, read_actions
from sluicegate.tables.delta.gather import gather
from sluicegate.tables.delta.names import LogFile, Sidecar, sidecar_of
from sluicegate.tables.delta.protocol import metadata_of, protocol_of
from sluicegate.tables.delta.segment import Checkpoint
from sluicegate.tables.snapshot import FileChunk, TableMetadata, TableProtocol

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from sluicegate.tables.delta.store import LogStore

_WHOLE_BYTES = 32 * 1024 * 1024
_WHOLE_HEAD_BYTES = 1024 * 1024
_PARALLEL = 2
_OTHER_ACTIONS = ("protocol", "metaData", "sidecar")


@dataclass(frozen=True, slots=True)
class CheckpointState:
    """What a checkpoint, or a part of one, says."""

    files: tuple[FileChunk, ...]
    protocol: TableProtocol | None = None
    metadata: TableMetadata | None = None
    sidecars: tuple[Sidecar, ...] = ()


async def read_checkpoint(store: LogStore, checkpoint: Checkpoint, root: str) -> CheckpointState:
    """Read a whole checkpoint: while one part or sidecar is decoded, the next one is fetched.

    Raises:
        ObjectMissing: A part or a sidecar is gone.
        TableUnreadable: A file is damaged.
        StorageError: The store does not answer or refuses.
    """
    reader = _Reader(store, root)
    parts = await gather([partial(reader.read, file) for file in checkpoint.files], _PARALLEL)
    sidecars = [sidecar for part in parts for sidecar in part.sidecars]
    parts += await gather([partial(reader.read_parquet, file) for file in sidecars], _PARALLEL)
    read: list[LogFile | Sidecar] = [*checkpoint.files, *sidecars]
    if sum(file.size for file in read) > _WHOLE_BYTES:
        # Decoding leaves the allocator holding a good part of what the columns take.
        await anyio.to_thread.run_sync(pa.default_memory_pool().release_unused)
    return CheckpointState(
        files=tuple(chunk for part in parts for chunk in part.files),
        protocol=next((part.protocol for part in parts if part.protocol), None),
        metadata=next((part.metadata for part in parts if part.metadata), None),
    )


async def read_checkpoint_head(store: LogStore, checkpoint: Checkpoint, root: str) -> CheckpointState:
    """Read protocol and metadata alone: of a large file little more than these is fetched.

    Raises as `read_checkpoint` does.
    """
    reader = _Reader(store, root, files=False)
    parts = await gather([partial(reader.read, file) for file in checkpoint.files], _PARALLEL)
    return CheckpointState(
        files=(),
        protocol=next((part.protocol for part in parts if part.protocol), None),
        metadata=next((part.metadata for part in parts if part.metadata), None),
    )


class _Reader:
    """Reads the files of one checkpoint; decodes one at a time, which bounds the memory that takes.

    Args:
        store: The log.
        root: Of the table's storage, for absolute paths.
        files: Read the file actions too.
    """

    def __init__(self, store: LogStore, root: str, *, files: bool = True) -> None:
        self._store = store
        self._root = root
        self._files = files
        self._decoding = anyio.CapacityLimiter(1)

    async def read(self, file: LogFile) -> CheckpointState:
        if file.name.endswith(".parquet"):
            return await self.read_parquet(file)
        actions = await read_actions(self._store, file, self._root)
        files = (FileChunk.of(as_files(actions.adds, f"the Delta log's {file.name}")),)
        return CheckpointState(files, actions.protocol, actions.metadata, actions.sidecars)

    async def read_parquet(self, file: LogFile | Sidecar) -> CheckpointState:
        """A small file by one request; a large one by parts, so that it never is in memory whole."""
        source: Any
        if file.size <= (_WHOLE_BYTES if self._files else _WHOLE_HEAD_BYTES):
            source = pa.BufferReader(pa.py_buffer(await self._store.read(file.name)))
        else:
            source = self._store.open(file.name, file.size)
        return await anyio.to_thread.run_sync(
            _parse, source, file.name, self._root, self._files, limiter=self._decoding
        )


def _parse(source: Any, name: str, root: str, with_files: bool) -> CheckpointState:
    import pyarrow.parquet as pq  # late: a gateway at rest has no use for it

    with damaged(f"the Delta log's {name}"):
        parquet = pq.ParquetFile(source, pre_buffer=True)
        add_columns = AddColumns(root, min(parquet.metadata.num_rows, CHUNK_ROWS))
        files: list[FileChunk] = []
        others: dict[str, list[Any]] = {kind: [] for kind in _OTHER_ACTIONS}
        for batch in _batches(parquet, _columns(parquet, with_files)):
            for kind, column in zip(batch.schema.names, batch.columns, strict=True):
                if kind != "add":
                    others[kind] += column.drop_null().to_pylist()
                elif column.null_count < len(column):
                    files.append(FileChunk.of(add_columns.convert(column)))
        return CheckpointState(
            files=tuple(files),
            protocol=next(map(protocol_of, others["protocol"]), None),
            metadata=next(map(metadata_of, others["metaData"]), None),
            sidecars=tuple(map(sidecar_of, others["sidecar"])),
        )


def _batches(parquet: pq.ParquetFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Row group by row group: what is buffered ahead is never more than one of them."""
    for group in range(parquet.num_row_groups):
        yield from parquet.iter_batches(CHUNK_ROWS, [group], columns, use_threads=False)


def _columns(parquet: pq.ParquetFile, with_files: bool) -> list[str]:
    schema = parquet.schema_arrow
    others = [kind for kind in _OTHER_ACTIONS if kind in schema.names]
    if not with_files:
        return others
    add = schema.field("add").type if "add" in schema.names else ()
    wanted = {*ADD_FIELDS, *([STATS_STRUCT] if _lacks_stats_texts(parquet) else [])}
    return [f"add.{field.name}" for field in add if field.name in wanted] + others


def _lacks_stats_texts(parquet: pq.ParquetFile) -> bool:
    """Whether the file, as far as its footer says, has no statistics as JSON text."""
    return not any(
        statistics.null_count < chunk.num_values
        for chunk in _chunks(parquet.metadata, f"add.{STATS}")
        if (statistics := chunk.statistics) is not None and statistics.has_null_count
    )


def _chunks(metadata: pq.FileMetaData, path: str) -> Iterator[pq.ColumnChunkMetaData]:
    for index in range(metadata.num_columns):
        if metadata.schema.column(index).path == path:
            for group in range(metadata.num_row_groups):
                yield metadata.row_group(group).column(index)
