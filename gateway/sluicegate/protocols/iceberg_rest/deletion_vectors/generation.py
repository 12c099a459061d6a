"""Reads the deletion vectors of a view, and generates its Puffin and position delete files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import anyio
import anyio.to_thread

from sluicegate.api import ObjectDirectory
from sluicegate.api.errors import NotFound, ObjectMissing, StorageError, TableUnreadable
from sluicegate.plugins import Instances
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.deletion_vectors.layout import (
    FILE_VECTORS,
    VectorLayout,
    described,
)
from sluicegate.protocols.iceberg_rest.file_access.table_files import TableFiles, is_beyond_the_end
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.delta.gather import gather
from sluicegate.tables.derived_files import DERIVED, DerivedFile
from sluicegate.tables.iceberg.position_deletes import position_delete_file
from sluicegate.tables.iceberg.puffin import puffin_file
from sluicegate.tables.iceberg.roaring import positions
from sluicegate.tables.iceberg.vector_blobs import INLINE, Vector
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.reading.store_errors import store_errors
from sluicegate.telemetry import span

_REQUESTS = 8  # concurrent ones
_GAP = 16 << 10  # bytes between vectors that are read rather than requested apart


class VectorSources:
    """Reads vectors of tables."""

    def __init__(self, instances: Instances, reader: TableReader) -> None:
        self._files = TableFiles(instances)
        self._reader = reader

    async def blobs(self, table: OpenTable, vectors: Sequence[Vector]) -> list[bytes]:
        """The blob of each vector. The caller limits their number and sizes."""
        by_file: dict[str, list[int]] = {}
        root = table.source.location
        for index, vector in enumerate(vectors):
            if vector.stored:
                by_file.setdefault(vector.location(root), []).append(index)
        # Decoding takes a second for the largest file.
        found = await anyio.to_thread.run_sync(_inline, vectors)
        self._files.check(table, by_file)
        jobs = [
            partial(self._read, await self._files.opened(table, location), location, vectors, wanted)
            for location, rows in by_file.items()
            for wanted in _neighbours(vectors, rows)
        ]
        for part in await gather(jobs, _REQUESTS):
            found |= part
        for index, vector in enumerate(vectors):
            if vector.kind == DERIVED:
                found[index] = await self._derived(table, vector)
        return [found[index] for index in range(len(vectors))]

    async def _read(
        self,
        place: tuple[ObjectDirectory, str],
        location: str,
        vectors: Sequence[Vector],
        wanted: Sequence[int],
    ) -> dict[int, bytes]:
        directory, name = place
        start = vectors[wanted[0]].offset
        end = max(vectors[index].offset + vectors[index].size for index in wanted)
        with span("store.get"), _vector_errors(location):
            read = await directory.store.get_range_async(directory.key(name), start=start, end=end)
        content = memoryview(read)
        return {index: _cut(vectors[index], content, vectors[index].offset - start) for index in wanted}

    async def _derived(self, table: OpenTable, vector: Vector) -> bytes:
        file = DerivedFile.parse(vector.text)
        try:
            content = await self._reader.derived(table.source, table.directory, file)
        except NotFound as error:
            raise TableUnreadable(
                "a deletion vector of the table is missing", detail=error.for_operators
            ) from error
        return _cut(vector, memoryview(content), vector.offset)


def _inline(vectors: Sequence[Vector]) -> dict[int, bytes]:
    return {
        index: vector.inline_blob() for index, vector in enumerate(vectors) if vector.kind == INLINE
    }


def _cut(vector: Vector, content: memoryview, start: int) -> bytes:
    return vector.checked(bytes(content[start : start + vector.size]))


def _neighbours(vectors: Sequence[Vector], rows: Sequence[int]) -> Iterator[list[int]]:
    """Vectors of one file that are read by one request, in the order of their offsets."""
    group: list[int] = []
    end = 0
    for index in sorted(rows, key=lambda index: vectors[index].offset):
        vector = vectors[index]
        if group and vector.offset > end + _GAP:
            yield group
            group, end = [], 0
        group.append(index)
        end = max(end, vector.offset + vector.size)
    yield group


@contextmanager
def _vector_errors(location: str) -> Iterator[None]:
    """Convert errors of the store: a missing file, or one that is too short, is the table's error."""
    try:
        with store_errors(location, "deletion vectors"):
            yield
    except ObjectMissing as error:
        raise TableUnreadable(
            "a deletion vector of the table is missing", detail=error.detail
        ) from error
    except StorageError as error:
        if not is_beyond_the_end(error):
            raise
        raise TableUnreadable(
            "a deletion vector of the table is damaged", detail=error.detail
        ) from error


class VectorFiles:
    """Generates files with the layouts that plans refer to."""

    def __init__(self, sources: VectorSources) -> None:
        self._sources = sources

    async def content(self, view: IcebergView, number: int) -> bytes:
        """The file that `vectors_name(number)` names in a view. The same view has the same bytes."""
        members = await anyio.to_thread.run_sync(_members, view, number, FILE_VECTORS)
        blobs = await self._read(view.table, [vector for _, vector in members])
        return await anyio.to_thread.run_sync(_assembled, view, members, blobs)

    async def positions(self, view: IcebergView, number: int) -> bytes:
        """The file that `deletes_name(number)` names in a view; raises as `content` does."""
        [(path, vector)] = await anyio.to_thread.run_sync(_members, view, number, 1)
        [blob] = await self._read(view.table, [vector])
        [data_file] = view.paths.of([path])
        return await anyio.to_thread.run_sync(_positions, view, data_file, vector, blob)

    async def _read(self, table: OpenTable, vectors: Sequence[Vector]) -> list[bytes]:
        with _naming(table):
            return await self._sources.blobs(table, vectors)


def _members(view: IcebergView, number: int, per_file: int) -> list[tuple[str, Vector]]:
    return VectorLayout(view.files, stored=True, per_file=per_file).members(number)


def _positions(view: IcebergView, data_file: str, vector: Vector, blob: bytes) -> bytes:
    with _naming(view.table):
        return position_delete_file(data_file, positions(vector.payload(blob), vector.cardinality))


def _assembled(
    view: IcebergView, members: Sequence[tuple[str, Vector]], blobs: Sequence[bytes]
) -> bytes:
    return puffin_file(described(members, view.paths), blobs)


@contextmanager
def _naming(table: OpenTable) -> Iterator[None]:
    """Add the name of the table to errors."""
    try:
        yield
    except TableUnreadable as error:
        raise TableUnreadable(
            f"{table.shared.full_name}: {error.message}", detail=error.detail
        ) from error
