"""The layouts of the views that are being planned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread

from sluicegate.protocols.iceberg_rest.deletion_vectors.layout import FILE_VECTORS, VectorLayout
from sluicegate.protocols.iceberg_rest.file_access.generated_names import vectors_name
from sluicegate.protocols.iceberg_rest.planning.vectors import VectorBlob
from sluicegate.protocols.iceberg_rest.view import TableView, ViewPaths
from sluicegate.tables.iceberg.vector_blobs import Vector

Describe = Callable[[TableView, VectorLayout, str, Vector], VectorBlob]
"""Describes the place of a vector, from its view, the layout, and the path of its data file."""


class Layouts:
    """Computes layouts, each once for all batches of a plan.

    Args:
        stored: See `VectorLayout`.
        per_file: See `VectorLayout`.
        describe: Describes the place of a data file's vector.
    """

    def __init__(
        self, *, stored: bool, per_file: int = FILE_VECTORS, describe: Describe | None = None
    ) -> None:
        self._stored = stored
        self._per_file = per_file
        self._describe = describe or _blob
        # Each view has its own paths, which live as long as its plan is being encoded.
        self._kept: WeakKeyDictionary[ViewPaths, VectorLayout] = WeakKeyDictionary()

    async def blobs(
        self, view: TableView, paths: Sequence[str], vectors: Sequence[Vector | None]
    ) -> dict[int, VectorBlob]:
        """The places of vectors in generated files, by row.

        Args:
            view: The view.
            paths: Its data files.
            vectors: The vector of each data file.

        Raises:
            IndexUnsuitable: Not all files of the view are in memory.
            TableUnreadable: See `VectorLayout`.
            UnsupportedOperation: See `VectorLayout` and `VectorLayout.place`.
        """
        wanted = [
            (row, path, vector)
            for row, (path, vector) in enumerate(zip(paths, vectors, strict=True))
            if vector is not None
        ]
        # The first of them computes the layout and the footers of many files.
        return await anyio.to_thread.run_sync(self._blobs, view, wanted)

    def _blobs(
        self, view: TableView, wanted: Sequence[tuple[int, str, Vector]]
    ) -> dict[int, VectorBlob]:
        if not wanted:
            return {}
        layout = self._layout(view)
        return {row: self._describe(view, layout, path, vector) for row, path, vector in wanted}

    def _layout(self, view: TableView) -> VectorLayout:
        layout = self._kept.get(view.paths)
        if layout is None:
            files = view.in_memory().files
            layout = VectorLayout(files, stored=self._stored, per_file=self._per_file)
            self._kept[view.paths] = layout
        return layout


def _blob(view: TableView, layout: VectorLayout, path: str, vector: Vector) -> VectorBlob:
    number, offset = layout.place(path, vector)
    size = layout.file_size(number, view.paths)
    return VectorBlob(vectors_name(number), offset, vector.size, vector.cardinality, size)
