"""Which generated Puffin file has which deletion vectors of a view.

The layout follows from the descriptors of the view's files alone, so each process computes the same
one, when it plans a scan and when it generates a file. Rows of a snapshot have no fixed order: it
depends on how the snapshot was read. Vectors are therefore sorted by kind, then by path.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import NotFound, TableUnreadable, UnsupportedOperation
from sluicegate.protocols.columns import texts
from sluicegate.protocols.iceberg_rest.file_access.generated_links import vectors_name
from sluicegate.protocols.iceberg_rest.planning.scan_tasks import VectorBlob
from sluicegate.protocols.iceberg_rest.view import TableView, ViewPaths
from sluicegate.tables.derived_files import DERIVED
from sluicegate.tables.iceberg.puffin import HEAD, PuffinVector, file_size
from sluicegate.tables.iceberg.vector_blobs import FIRST, FRAME, INLINE, Vector, vectors_of
from sluicegate.tables.snapshot import FileSet

# Clients that need these files read all of a file, and its vectors are in memory at once.
FILE_VECTORS: Final = 256
"""The most vectors of a file."""

_FILE_BYTES = 8 << 20
_LARGEST_VECTOR = 32 << 20

_GENERATED = (INLINE, DERIVED)
_KINDS = pa.array(_GENERATED)
# Stored vectors come last, and only for clients that cannot read them in place.
_STORED = len(_GENERATED)


class VectorLayout:
    """The deletion vectors of a view, in generated files."""

    def __init__(self, files: FileSet, *, stored: bool, per_file: int = FILE_VECTORS) -> None:
        self._vectors = files.table.column("deletion_vector")
        self._texts = pc.struct_field(self._vectors, "pathOrInlineDv")
        self._own_offsets = pc.struct_field(self._vectors, "offset")
        order = _in_order(files, stored=stored)
        self._rows = order.column("row")
        self._paths = texts(order.column("path"))
        self._places = {path: place for place, path in enumerate(self._paths)}
        kinds = order.column("kind").to_pylist()
        self._blob_sizes = array("q", order.column("size").to_pylist())
        self._starts, self._offsets = _places(kinds, self._blob_sizes, per_file)
        self._file_sizes: dict[int, int] = {}

    def place(self, path: str, vector: Vector) -> tuple[int, int]:
        """The number of the file with the vector of a data file, and the offset of its blob."""
        at = self._places.get(path)
        if at is None or not self._has(at, vector):
            raise UnsupportedOperation(
                "an incremental scan cannot read a deletion vector that the last snapshot does not "
                "have: read the snapshots"
            )
        return bisect_right(self._starts, at) - 1, self._offsets[at]

    def members(self, number: int) -> list[tuple[str, Vector]]:
        """The data files and vectors of a file."""
        if number >= len(self._starts):
            raise NotFound("this table has no such file of deletion vectors: plan the scan again")
        start = self._starts[number]
        after = number + 1
        end = self._starts[after] if after < len(self._starts) else len(self._paths)
        paths = self._paths[start:end]
        vectors = vectors_of(self._vectors.take(self._rows.slice(start, end - start)))
        return [(path, vector) for path, vector in zip(paths, vectors, strict=True) if vector]

    def file_size(self, number: int, paths: ViewPaths) -> int:
        """Bytes of a file, whose footer contains the view's paths; raises as `members` does."""
        if number not in self._file_sizes:
            self._file_sizes[number] = file_size(described(self.members(number), paths))
        return self._file_sizes[number]

    def _has(self, at: int, vector: Vector) -> bool:
        """Whether a place is for this vector, and not for another one of the same data file."""
        row = self._rows[at].as_py()
        offset = self._own_offsets[row].as_py()
        return (
            self._texts[row].as_py() == vector.text
            and self._blob_sizes[at] == vector.size
            and (FIRST if offset is None else offset) == vector.offset
        )


def described(members: Sequence[tuple[str, Vector]], paths: ViewPaths) -> list[PuffinVector]:
    """The members of a file with the view's paths."""
    data_files = paths.of([path for path, _ in members])
    return [
        PuffinVector(data_file, vector.cardinality, vector.size)
        for data_file, (_, vector) in zip(data_files, members, strict=True)
    ]


def check_sizes(files: FileSet) -> None:
    """Check that the vectors of a view are small enough for generated files."""
    vectors = files.table.column("deletion_vector")
    _sizes(vectors, _rows(files, vectors))


def _rows(files: FileSet, vectors: pa.ChunkedArray) -> pa.Array:
    """The rows of live files that have vectors."""
    if not vectors.num_chunks:
        return pa.array([], pa.uint64())  # PyArrow crashes in `indices_nonzero` without chunks
    present = vectors.is_valid()
    return pc.indices_nonzero(present if files.live is None else pc.and_(present, files.live))


def _in_order(files: FileSet, *, stored: bool) -> pa.Table:
    """The vectors of a layout: path, row in `files.table`, kind (in its order) and size of the blob."""
    vectors = files.table.column("deletion_vector")
    rows = _rows(files, vectors)
    kinds = pc.index_in(pc.struct_field(vectors, "storageType").take(rows), value_set=_KINDS)
    sizes = _sizes(vectors, rows)
    table = pa.table(
        {
            "path": files.table.column("path").take(rows),
            "row": rows,
            "kind": kinds.fill_null(_STORED),
            "size": pc.add(sizes, FRAME),
        }
    )
    wanted = pc.greater(sizes, 0)
    if not stored:
        wanted = pc.and_(wanted, pc.less(table.column("kind"), _STORED))
    table = table.filter(wanted)
    if pc.count_distinct(table.column("path")).as_py() != len(table):
        raise TableUnreadable("the table contains a data file with two deletion vectors")
    order = pc.sort_indices(table, [("kind", "ascending"), ("path", "ascending")])
    return table.take(order).combine_chunks()


def _sizes(vectors: pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    """Bytes of vectors without the frame of their blobs; raises as `check_sizes`."""
    sizes = pc.struct_field(vectors, "sizeInBytes").take(rows).fill_null(-1).cast(pa.int64())
    if not len(sizes):
        return sizes
    least, most = pc.min_max(sizes).as_py().values()
    if least < 0:
        raise TableUnreadable("the table contains a malformed deletion vector", detail="sizeInBytes")
    if most > _LARGEST_VECTOR:
        raise UnsupportedOperation(
            f"the table contains a deletion vector of {most} bytes, and this client can read at most "
            f"{_LARGEST_VECTOR}: use another protocol, or let the provider rewrite the data file"
        )
    return sizes


def _places(kinds: Sequence[int], sizes: Sequence[int], per_file: int) -> tuple[array[int], array[int]]:
    """The first row of each file, and the offset of each row's blob in its file."""
    starts, offsets = array("q"), array("q")
    kind, count, offset = -1, 0, HEAD
    for row, (its_kind, size) in enumerate(zip(kinds, sizes, strict=True)):
        full = count == per_file or offset + size > _FILE_BYTES
        if full or its_kind != kind:
            starts.append(row)
            kind, count, offset = its_kind, 0, HEAD
        offsets.append(offset)
        count, offset = count + 1, offset + size
    return starts, offsets


Describe = Callable[[TableView, VectorLayout, str, Vector], VectorBlob]
"""Describes the place of a vector, from its view, the layout, and the path of its data file."""


class Layouts:
    """Computes layouts, each once for all batches of a plan."""

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
        """The places of vectors in generated files, by row."""
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
