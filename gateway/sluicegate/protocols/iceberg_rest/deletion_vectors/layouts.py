"""The layouts of the views that are being planned."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread

from sluicegate.protocols.iceberg_rest.deletion_vectors.layout import VectorLayout
from sluicegate.protocols.iceberg_rest.file_access.generated_names import vectors_name
from sluicegate.protocols.iceberg_rest.planning.vectors import VectorBlob
from sluicegate.protocols.iceberg_rest.view import IcebergView, ViewPaths
from sluicegate.tables.iceberg.vector_blobs import Vector


class Layouts:
    """Computes layouts, each once for all batches of a plan.

    Args:
        stored: See `VectorLayout`.
    """

    def __init__(self, *, stored: bool) -> None:
        self._stored = stored
        # Each view has paths of its own, which live as long as its plan is being encoded.
        self._kept: WeakKeyDictionary[ViewPaths, VectorLayout] = WeakKeyDictionary()

    async def of(self, view: IcebergView) -> VectorLayout:
        """The layout of a view; raises as `VectorLayout` does."""
        layout = self._kept.get(view.paths)
        if layout is None:
            layout = await anyio.to_thread.run_sync(self._made, view)
            self._kept[view.paths] = layout
        return layout

    def _made(self, view: IcebergView) -> VectorLayout:
        return VectorLayout(view.files, stored=self._stored)


def generated_blob(view: IcebergView, layout: VectorLayout, path: str, vector: Vector) -> VectorBlob:
    """The place of a vector in a generated file; raises as `VectorLayout.place` does."""
    number, offset = layout.place(path, vector)
    size = layout.file_size(number, view.paths)
    return VectorBlob(vectors_name(number), offset, vector.size, vector.cardinality, size)
