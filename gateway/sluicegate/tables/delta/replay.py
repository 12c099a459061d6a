"""Replays actions: the newest action on a file counts (Delta protocol, "Action Reconciliation").

A file's key is its path together with the unique id of its deletion vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.delta.log_files.actions import (
    ACTION_SCHEMA,
    Actions,
    as_files,
    one_batch,
)
from sluicegate.tables.derived_columns import chunks_of
from sluicegate.tables.snapshot import CHUNK_ROWS, FileChunk, FileSet

_LINES = 1 << 32


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The combined effect of several commits.

    Attributes:
        files: Files that were added and not removed again, as batches of `FILE_SCHEMA`.
    """

    paths: pa.Array
    keys: pa.Array
    files: tuple[pa.RecordBatch, ...]


def reconcile(commits: Sequence[Actions]) -> FileChanges:
    """Combine commits and compactions, in ascending order."""
    adds = _numbered(actions.adds for actions in commits)
    removes = _numbered(actions.removes for actions in commits)
    touched = pa.concat_tables([_keys(adds), _keys(removes)])
    keys, lines = _newest(touched)
    kept = adds.filter(pc.is_in(adds.column("line"), value_set=lines))
    files = tuple(as_files(batch, "a commit of the Delta log") for batch in _joined(kept.to_batches()))
    return FileChanges(
        paths=pc.unique(touched.column("path")),
        keys=keys,
        files=files,
    )


def _newest(touched: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Each distinct key, and the line of its newest action.

    `group_by` does the same, but it needs Arrow's engine for queries: memory, and its threads.
    """
    keys = touched.column("key").combine_chunks().dictionary_encode("encode")
    lines = touched.column("line").combine_chunks()
    newest_first = pc.array_sort_indices(lines, order="descending")
    every_key = pa.array(range(len(keys.dictionary)), keys.indices.type)
    newest = pc.index_in(every_key, value_set=keys.indices.take(newest_first))
    return keys.dictionary, lines.take(newest_first.take(newest))


def repeats_a_file(actions: Actions) -> bool:
    """Whether two of the adds and removes have the same key."""
    keys = [file_keys(batch) for batch in (actions.adds, actions.removes)]
    return bool(pc.count_distinct(pa.chunked_array(keys, pa.string())).as_py() < sum(map(len, keys)))


def apply(files: FileSet, changes: FileChanges) -> FileSet:
    """The files after the changes: changed files are marked as not live, added ones are appended.

    Chunks of which more than a quarter is not live are rewritten, and small ones at the end are joined.
    Otherwise, dead rows and chunks would pile up while a snapshot is advanced commit by commit.
    """
    chunks: list[_Chunk] = []
    for chunk, live in files.chunks():
        _append(chunks, _Chunk(chunk, live).without(changes))
    for batch in changes.files:
        _append(chunks, _packed(batch))
    return _file_set(chunks, files)


@dataclass(frozen=True, slots=True)
class _Chunk:
    files: FileChunk
    live: pa.BooleanArray | None

    def __len__(self) -> int:
        return len(self.files)

    def without(self, changes: FileChanges) -> _Chunk:
        dead = touched_rows(self.files.plain, changes)
        if dead is None:
            return self
        live = pc.invert(dead) if self.live is None else pc.and_not(self.live, dead)
        chunk = _Chunk(self.files, live)
        return chunk if live.true_count >= 0.75 * len(live) else _packed(chunk.unpack())

    def joined(self, other: _Chunk) -> _Chunk:
        return _packed(_join([self.unpack(), other.unpack()]))

    def unpack(self) -> pa.RecordBatch:
        """The live rows."""
        files = self.files.unpack()
        return files if self.live is None else files.filter(self.live)


def _packed(files: pa.RecordBatch) -> _Chunk:
    return _Chunk(FileChunk.of(files), None)


def _append(chunks: list[_Chunk], chunk: _Chunk) -> None:
    """Append a chunk. Join it with the chunks before it unless these are much larger."""
    while chunks and len(chunk):
        before = len(chunks[-1])
        if before >= 2 * len(chunk) or before + len(chunk) > CHUNK_ROWS:
            break
        chunk = chunks.pop().joined(chunk)
    if len(chunk):
        chunks.append(chunk)


def _file_set(chunks: Sequence[_Chunk], before: FileSet) -> FileSet:
    files = FileSet.of((chunk.files for chunk in chunks), _live(chunks))
    derived = before.derived.carried_to([*chunks_of(files.table), *files.stats])
    return replace(files, derived=derived)


def _live(chunks: Sequence[_Chunk]) -> pa.BooleanArray | None:
    if all(chunk.live is None for chunk in chunks):
        return None
    masks = [pa.repeat(True, len(chunk)) if chunk.live is None else chunk.live for chunk in chunks]
    return pa.concat_arrays(masks)


def touched_rows(batch: pa.RecordBatch, changes: FileChanges) -> pa.BooleanArray | None:
    """Which rows the changes affect, or `None`. Keys are built only for rows with an affected path."""
    suspects = pc.is_in(batch.column("path"), value_set=changes.paths)
    if not suspects.true_count:
        return None
    keys = file_keys(batch.filter(suspects))
    return pc.replace_with_mask(suspects, suspects, pc.is_in(keys, value_set=changes.keys))


def _numbered(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """The batches as one table, with continuous line numbers."""
    numbered = [
        batch.set_column(
            batch.schema.get_field_index("line"),
            ACTION_SCHEMA.field("line"),
            pc.add(batch.column("line"), commit * _LINES),
        )
        for commit, batch in enumerate(batches)
        if batch.num_rows
    ]
    return pa.Table.from_batches(numbered, schema=ACTION_SCHEMA)


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in few batches."""
    group: list[pa.RecordBatch] = []
    for batch in batches:
        if group and sum(part.num_rows for part in group) + batch.num_rows > CHUNK_ROWS:
            yield _join(group)
            group = []
        group.append(batch)
    if group:
        yield _join(group)


def _join(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return one_batch(pa.Table.from_batches(batches))


def _keys(actions: pa.Table) -> pa.Table:
    batches = actions.to_batches()
    return pa.table(
        {
            "key": pa.chunked_array([file_keys(batch) for batch in batches], pa.string()),
            "path": actions.column("path"),
            "line": actions.column("line"),
        }
    )


def file_keys(batch: pa.RecordBatch) -> pa.Array:
    """The keys of files: their paths, together with the unique ids of their deletion vectors."""
    paths, vectors = batch.column("path"), batch.column("deletion_vector")
    if vectors.null_count == len(vectors):
        return paths
    storage, payload, offset = (
        pc.struct_field(vectors, name) for name in ("storageType", "pathOrInlineDv", "offset")
    )
    suffix = pc.fill_null(pc.binary_join_element_wise("@", offset.cast(pa.string()), ""), "")
    keys = pc.binary_join_element_wise(paths, "\0", storage, payload, suffix, "")
    return pc.if_else(vectors.is_valid(), keys, paths)
