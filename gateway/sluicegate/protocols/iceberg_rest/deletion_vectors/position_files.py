"""Deletion vectors as position delete files, for tables whose format version has no vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from sluicegate.api.errors import UnsupportedOperation
from sluicegate.protocols.common.column_values import texts
from sluicegate.protocols.iceberg_rest.deletion_vectors.layout import VectorLayout
from sluicegate.protocols.iceberg_rest.deletion_vectors.layouts import Layouts
from sluicegate.protocols.iceberg_rest.file_access.generated_names import deletes_name
from sluicegate.protocols.iceberg_rest.planning.vectors import VectorBlob, VectorBlobs
from sluicegate.protocols.iceberg_rest.view import TableView
from sluicegate.tables.iceberg.position_deletes import file_size
from sluicegate.tables.iceberg.shape import FIRST_WITH_VECTORS
from sluicegate.tables.iceberg.vector_blobs import Vector, vectors_of
from sluicegate.tables.snapshot import FileSet

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
    """Deletes as the format version of a view's table has them.

    Args:
        vectors: Finds deletion vectors.
        positions: Finds position delete files.
    """

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
