"""The places of deletion vectors in scan plans."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sluicegate.protocols.common.column_values import texts
from sluicegate.protocols.iceberg_rest.deletion_vectors.layouts import Layouts
from sluicegate.protocols.iceberg_rest.planning.vectors import VectorBlob
from sluicegate.protocols.iceberg_rest.view import TableView
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
