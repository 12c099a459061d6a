"""The places of deletion vectors in scan plans."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sluicegate.protocols.common.column_values import texts
from sluicegate.protocols.iceberg_rest.deletion_vectors.layouts import Layouts, generated_blob
from sluicegate.protocols.iceberg_rest.planning.vectors import VectorBlob
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.tables.iceberg.vector_blobs import Vector


class StoredVectors:
    """Vectors where the table has them, and in generated files only if no file of the table has them.

    For clients that read a vector at its offset, without the footer of a Puffin file.
    """

    def __init__(self) -> None:
        self._layouts = Layouts(stored=False)

    async def of(self, view: IcebergView, files: pa.Table) -> Sequence[VectorBlob | None]:
        """The vector of each file; see `VectorBlobs.of`."""
        vectors = _parsed(files)
        paths = _relative_paths(view, vectors)
        if any(vector is not None and not vector.stored for vector in vectors):
            layout = await self._layouts.of(view)
        return [
            None
            if vector is None
            else _in_place(vector, paths[vector.kind, vector.text])
            if vector.stored
            else generated_blob(view, layout, path, vector)
            for path, vector in zip(texts(files.column("path")), vectors, strict=True)
        ]


class PuffinVectors:
    """All vectors in generated files, for clients that read vectors only from complete Puffin files."""

    def __init__(self) -> None:
        self._layouts = Layouts(stored=True)

    async def of(self, view: IcebergView, files: pa.Table) -> Sequence[VectorBlob | None]:
        """The vector of each file; see `VectorBlobs.of`."""
        vectors = _parsed(files)
        _relative_paths(view, vectors)  # reports malformed ones before a client requests them
        layout = await self._layouts.of(view)
        return [
            None if vector is None else generated_blob(view, layout, path, vector)
            for path, vector in zip(texts(files.column("path")), vectors, strict=True)
        ]


def _parsed(files: pa.Table) -> list[Vector | None]:
    return [
        None if descriptor is None else Vector.parse(descriptor)
        for descriptor in files.column("deletion_vector").to_pylist()
    ]


def _in_place(vector: Vector, path: str) -> VectorBlob:
    # The table does not record the size of the file. Clients need none to read a range.
    end = vector.offset + vector.size
    return VectorBlob(path, vector.offset, vector.size, vector.cardinality, end)


def _relative_paths(view: IcebergView, vectors: Sequence[Vector | None]) -> dict[tuple[str, str], str]:
    """The path of each stored vector's file, as `ViewPaths.of` takes it, by kind and text."""
    root = view.table.source.location
    prefix = root.rstrip("/") + "/"
    stored = {
        (vector.kind, vector.text): vector for vector in vectors if vector is not None and vector.stored
    }
    return {key: vector.location(root).removeprefix(prefix) for key, vector in stored.items()}
