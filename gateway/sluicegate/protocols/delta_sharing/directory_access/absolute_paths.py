"""The directories that a snapshot's absolute paths point to (shallow clones, moved tables)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.tables.snapshot import FileSet, Snapshot

_NAME = "absolute paths"


def absolute_directories(snapshot: Snapshot) -> tuple[str, ...]:
    """The directories of all live files and deletion vectors with absolute paths, sorted.

    Partition directories are omitted: for `s3://lake/t/day=1/a.parquet`, the result is `s3://lake/t`.
    """
    paths = pa.concat_arrays([*_data_files(snapshot.files), *_vectors(snapshot.files)])
    parents = pc.unique(pc.replace_substring_regex(paths, "/[^/]*$", "")).to_pylist()
    columns = snapshot.metadata.partition_columns
    return tuple(sorted({_without_partitions(parent, columns) for parent in parents}))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which paths of a chunk are absolute. `None` if none is, as in nearly all tables."""

    mask: pa.BooleanArray | None

    @property
    def nbytes(self) -> int:
        return 0 if self.mask is None else int(self.mask.nbytes)


def _data_files(files: FileSet) -> Iterator[pa.Array]:
    yield pa.array([], pa.string())
    for chunk, live in _chunks(files, "path"):
        (rows,) = files.derived.get(chunk, [_NAME], partial(_absolute, chunk))
        if rows.mask is not None:
            yield chunk.filter(rows.mask if live is None else pc.and_(rows.mask, live))


def _absolute(chunk: pa.Array, _: Sequence[Any]) -> list[_Rows]:
    mask = pc.match_substring(chunk, "://")
    return [_Rows(mask if mask.true_count else None)]


def _vectors(files: FileSet) -> Iterator[pa.Array]:
    for chunk, live in _chunks(files, "deletion_vector"):
        if chunk.null_count == len(chunk):
            continue
        mask = pc.equal(pc.struct_field(chunk, "storageType"), "p")
        mask = mask if live is None else pc.and_(mask, live)
        yield pc.struct_field(chunk, "pathOrInlineDv").filter(mask)


def _chunks(files: FileSet, column: str) -> Iterator[tuple[pa.Array, pa.BooleanArray | None]]:
    """The non-empty chunks of a column, and which of their rows are live."""
    start = 0
    for chunk in files.table.column(column).chunks:
        if len(chunk):
            yield chunk, None if files.live is None else files.live.slice(start, len(chunk))
        start += len(chunk)


def _without_partitions(directory: str, columns: Sequence[str]) -> str:
    left = set(columns)
    while left:
        parent, _, name = directory.rpartition("/")
        column = unquote(name.partition("=")[0])
        if "=" not in name or column not in left:
            break
        left.remove(column)
        directory = parent
    return directory
