"""The places of deletion vectors and position delete files in scan plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.protocols.columns import texts
from sluicegate.protocols.iceberg_rest.deletion_vectors.layout import Layouts, VectorLayout
from sluicegate.protocols.iceberg_rest.file_access.generated_links import deletes_name
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import VectorBlob, VectorBlobs
from sluicegate.protocols.iceberg_rest.view import TableView
from sluicegate.tables.iceberg.position_deletes import file_size
from sluicegate.tables.iceberg.shape import FIRST_WITH_VECTORS
from sluicegate.tables.iceberg.vector_blobs import Vector, generated_vectors, vectors_of
from sluicegate.tables.snapshot import FileSet


class StoredVectors:
    """Vectors where the table has them, and in generated files only if no file of the table has them.

    For clients that read a vector at its offset, without the footer of a Puffin file.
    """

    def __init__(self) -> None:
        self._layouts = Layouts(stored=False)

    def need_all(self, files: FileSet) -> bool:
        """See `VectorBlobs.need_all`: generated files have a layout of all vectors in them."""
        return generated_vectors(files)

    async def of(self, view: TableView, files: pa.Table) -> Sequence[VectorBlob | None]:
        """The vector of each file; see `VectorBlobs.of`."""
        vectors = vectors_of(files.column("deletion_vector"))
        paths = _relative_paths(view, vectors)
        generated: dict[int, VectorBlob] = {}
        if any(vector is not None and not vector.stored for vector in vectors):
            in_files = [None if vector is None or vector.stored else vector for vector in vectors]
            generated = await self._layouts.blobs(view, texts(files.column("path")), in_files)
        return [
            _in_place(vector, paths[vector.kind, vector.text])
            if vector is not None and vector.stored
            else generated.get(row)
            for row, vector in enumerate(vectors)
        ]


class PuffinVectors:
    """All vectors in generated files, for clients that read vectors only from complete Puffin files."""

    def __init__(self) -> None:
        self._layouts = Layouts(stored=True)

    def need_all(self, files: FileSet) -> bool:
        """See `VectorBlobs.need_all`."""
        return files.deletion_vectors

    async def of(self, view: TableView, files: pa.Table) -> Sequence[VectorBlob | None]:
        """The vector of each file; see `VectorBlobs.of`."""
        vectors = vectors_of(files.column("deletion_vector"))
        _relative_paths(view, vectors)  # reports malformed ones before a client requests them
        paths = texts(files.column("path"))
        blobs = await self._layouts.blobs(view, paths, vectors)
        return [blobs.get(row) for row in range(files.num_rows)]


def _in_place(vector: Vector, path: str) -> VectorBlob:
    # The table does not record the size of the file. Clients need none to read a range.
    end = vector.offset + vector.size
    return VectorBlob(path, vector.offset, vector.size, vector.cardinality, end)


def _relative_paths(view: TableView, vectors: Sequence[Vector | None]) -> dict[tuple[str, str], str]:
    """The path of each stored vector's file, as `ViewPaths.of` takes it, by kind and text."""
    root = view.table.source.location
    prefix = root.rstrip("/") + "/"
    stored = {
        (vector.kind, vector.text): vector for vector in vectors if vector is not None and vector.stored
    }
    return {key: vector.location(root).removeprefix(prefix) for key, vector in stored.items()}


MOST_ROWS: Final = 8 << 20
"""The most rows of a file, which is in memory while it is generated."""


class PositionFiles:
    """All vectors in generated position delete files, one for each data file."""

    def __init__(self) -> None:
        self._layouts = Layouts(stored=True, per_file=1, describe=_described)

    def need_all(self, files: FileSet) -> bool:
        """See `VectorBlobs.need_all`."""
        return files.deletion_vectors

    async def of(self, view: TableView, files: pa.Table) -> Sequence[VectorBlob | None]:
        """The position delete file of each file; see `VectorBlobs.of`."""
        vectors = vectors_of(files.column("deletion_vector"))
        found = await self._layouts.blobs(view, texts(files.column("path")), vectors)
        return [found.get(row) for row in range(files.num_rows)]


class ByFormatVersion:
    """Deletes as the format version of a view's table has them."""

    def __init__(self, vectors: VectorBlobs, positions: PositionFiles) -> None:
        self._vectors = vectors
        self._positions = positions

    def need_all(self, files: FileSet) -> bool:
        """See `VectorBlobs.need_all`. Tables without vectors have no indexes."""
        return self._vectors.need_all(files)

    async def of(self, view: TableView, files: pa.Table) -> Sequence[VectorBlob | None]:
        """See `VectorBlobs.of`."""
        has_vectors = view.shape.format_version >= FIRST_WITH_VECTORS
        return await (self._vectors if has_vectors else self._positions).of(view, files)


def _described(view: TableView, layout: VectorLayout, path: str, vector: Vector) -> VectorBlob:
    if vector.cardinality > MOST_ROWS:
        raise UnsupportedOperation(
            f"{vector.cardinality} rows of a data file of the table are deleted, and Iceberg clients "
            f"can get at most {MOST_ROWS} of them: use another protocol, or let the provider rewrite "
            "the data file"
        )
    number, _ = layout.place(path, vector)
    [data_file] = view.paths.of([path])
    size = file_size(data_file, vector.cardinality)
    return VectorBlob(deletes_name(number), 0, 0, vector.cardinality, size, "parquet")
