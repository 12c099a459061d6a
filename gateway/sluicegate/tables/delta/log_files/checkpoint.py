"""Checkpoints: classic, multi-part, and v2 with sidecars (Delta protocol, "Checkpoints")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pyarrow as pa

from sluicegate.api.budget import Budget
from sluicegate.tables.delta.gather import gather
from sluicegate.tables.delta.log_files.actions import as_files
from sluicegate.tables.delta.log_files.columns import ADD_FIELDS, STATS, STATS_STRUCT, AddColumns
from sluicegate.tables.delta.log_files.commits import SIDECAR_BYTES, damaged, read_actions
from sluicegate.tables.delta.log_files.names import LogFile, Sidecar, sidecar_of
from sluicegate.tables.delta.log_files.segment import Checkpoint
from sluicegate.tables.delta.protocol import metadata_of, protocol_of
from sluicegate.tables.parquet.decoding import ParquetBytes, columns_in, decoded
from sluicegate.tables.parquet.footer import Footer
from sluicegate.tables.snapshot import CHUNK_ROWS, FileChunk, TableMetadata, TableProtocol

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from sluicegate.tables.delta.log_files.store import LogStore

_WHOLE_BYTES = 32 * 1024 * 1024
_WHOLE_HEAD_BYTES = 1024 * 1024
_PARALLEL = 2
_OTHER_ACTIONS = ("protocol", "metaData", "sidecar")


@dataclass(frozen=True, slots=True)
class CheckpointState:
    """The content of a checkpoint, or of a part of one."""

    files: tuple[FileChunk, ...]
    protocol: TableProtocol | None = None
    metadata: TableMetadata | None = None
    sidecars: tuple[Sidecar, ...] = ()


async def read_checkpoint(store: LogStore, checkpoint: Checkpoint, root: str) -> CheckpointState:
    """Read an entire checkpoint: while one part or sidecar is decoded, the next one is fetched."""
    reader = _Reader(store, root)
    parts = await gather([partial(reader.read, file) for file in checkpoint.files], _PARALLEL)
    sidecars = [sidecar for part in parts for sidecar in part.sidecars]
    parts += await gather([partial(reader.read_parquet, file) for file in sidecars], _PARALLEL)
    read: list[LogFile | Sidecar] = [*checkpoint.files, *sidecars]
    if sum(file.size for file in read) > _WHOLE_BYTES:
        # After decoding, the allocator still occupies a large part of the memory of the columns.
        await anyio.to_thread.run_sync(pa.default_memory_pool().release_unused)
    return _joined(parts)


async def read_checkpoint_head(store: LogStore, checkpoint: Checkpoint, root: str) -> CheckpointState:
    """Read only protocol and metadata. Of a large file, little more than these is fetched.

    Raises as `read_checkpoint` does.
    """
    reader = _Reader(store, root, files=False)
    parts = await gather([partial(reader.read, file) for file in checkpoint.files], _PARALLEL)
    return _joined(parts)


def _joined(parts: Sequence[CheckpointState]) -> CheckpointState:
    """The combined parts of a checkpoint."""
    return CheckpointState(
        tuple(chunk for part in parts for chunk in part.files),
        next((part.protocol for part in parts if part.protocol), None),
        next((part.metadata for part in parts if part.metadata), None),
        tuple(sidecar for part in parts for sidecar in part.sidecars),
    )


class _Reader:
    """Reads the files of one checkpoint, and decodes one at a time to limit memory."""

    def __init__(self, store: LogStore, root: str, *, files: bool = True) -> None:
        self._store = store
        self._root = root
        self._files = files
        self._decoding = anyio.CapacityLimiter(1)

    async def read(self, file: LogFile) -> CheckpointState:
        if file.name.endswith(".parquet"):
            return await self.read_parquet(file)
        actions = await read_actions(self._store, file, self._root, files=self._files)
        files = (FileChunk.of(as_files(actions.adds, f"the Delta log's {file.name}")),)
        return CheckpointState(files, actions.protocol, actions.metadata, actions.sidecars)

    async def read_parquet(self, file: LogFile | Sidecar) -> CheckpointState:
        """Read a small file with one request, and a large one in parts to save memory."""
        store, source = self._store, None
        if file.size <= (_WHOLE_BYTES if self._files else _WHOLE_HEAD_BYTES):
            source = ParquetBytes.of(await store.read(file.name))
        else:
            size = file.size if isinstance(file, LogFile) else await store.size(file.name)
            await store.budget.admit(size if self._files else 0)
            source = ParquetBytes(store.open(file.name, size), size)
        return await store.budget.run(
            _parse, source, file.name, self._root, self._files, store.budget, limiter=self._decoding
        )


def added_files(source: ParquetBytes, name: str, root: str, budget: Budget) -> Iterator[pa.RecordBatch]:
    """The files that a Parquet file of a checkpoint adds, in batches of `FILE_SCHEMA`."""
    for kind, actions in _actions(source, name, root, True, budget):
        if kind == "add":
            yield actions


def _parse(
    source: ParquetBytes, name: str, root: str, with_files: bool, budget: Budget
) -> CheckpointState:
    what = f"the Delta log's {name}"
    with damaged(what):
        state = _State(what, budget)
        for kind, actions in _actions(source, name, root, with_files, budget):
            if kind == "add":
                state.files.append(FileChunk.of(actions))
            else:
                state.take(kind, actions)
        return state.finished()


def _actions(
    source: ParquetBytes, name: str, root: str, with_files: bool, budget: Budget
) -> Iterator[tuple[str, Any]]:
    """Batches of actions of one kind: those of `add` have `FILE_SCHEMA`."""
    import pyarrow.parquet as pq  # imported late: an idle gateway does not need it

    what = f"the Delta log's {name}"
    with damaged(what):
        footer = source.footer(what, budget)
        parquet = pq.ParquetFile(source.file())
        groups = [
            parquet.metadata.row_group(number).num_rows for number in range(parquet.num_row_groups)
        ]
        budget.take(what, rows=sum(groups))
        add_columns = AddColumns(root, min(max(groups, default=0), CHUNK_ROWS))
        for batch in decoded(
            source, footer, parquet, _columns(footer, parquet, with_files), what, budget
        ):
            for kind, column in zip(batch.schema.names, batch.columns, strict=True):
                if kind != "add":
                    yield kind, column.drop_null()
                elif column.null_count < len(column):
                    yield kind, add_columns.convert(column)


class _State:
    """Collects the content of a checkpoint's batches."""

    def __init__(self, what: str, budget: Budget) -> None:
        self.files: list[FileChunk] = []
        self._what, self._budget = what, budget
        self._first: dict[str, Any] = {}
        self._sidecars: list[Sidecar] = []

    def take(self, kind: str, actions: pa.Array) -> None:
        """Add actions of a kind. The first protocol and metadata action counts."""
        if kind == "sidecar":
            self._budget.take(self._what, bytes=SIDECAR_BYTES * len(actions))
            self._sidecars += map(sidecar_of, actions.to_pylist())
        elif kind not in self._first and len(actions):
            self._first[kind] = actions[0].as_py()

    def finished(self) -> CheckpointState:
        """The combined content."""
        protocol, metadata = self._first.get("protocol"), self._first.get("metaData")
        return CheckpointState(
            files=tuple(self.files),
            protocol=None if protocol is None else protocol_of(protocol),
            metadata=None if metadata is None else metadata_of(metadata),
            sidecars=tuple(self._sidecars),
        )


def _columns(footer: Footer, parquet: pq.ParquetFile, with_files: bool) -> list[str]:
    schema = parquet.schema_arrow
    others = [kind for kind in _OTHER_ACTIONS if kind in schema.names]
    if not with_files:
        return others
    add = schema.field("add").type if "add" in schema.names else ()
    wanted = {*ADD_FIELDS, *([STATS_STRUCT] if _lacks_stats_texts(footer, parquet) else [])}
    return [f"add.{field.name}" for field in add if field.name in wanted] + others


def _lacks_stats_texts(footer: Footer, parquet: pq.ParquetFile) -> bool:
    """Whether the file, according to its footer, has no statistics as JSON text."""
    texts = columns_in(parquet, [f"add.{STATS}"])
    return not any(
        chunk.nulls is not None and chunk.nulls < chunk.values
        for group in range(parquet.num_row_groups)
        for chunk in footer.chunks(group, texts)
    )
