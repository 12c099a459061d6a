"""Which generated Puffin file has which deletion vectors of a view.

The layout follows from the descriptors of the view's files alone, so each process computes the same
one, when it plans a scan and when it generates a file. Rows of a snapshot have no fixed order: it
depends on how the snapshot was read. Vectors are therefore sorted by kind, then by path.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import NotFound, TableUnreadable, UnsupportedOperation
from sluicegate.protocols.common.column_values import texts
from sluicegate.protocols.iceberg_rest.view import ViewPaths
from sluicegate.tables.derived_files import DERIVED
from sluicegate.tables.iceberg.puffin import HEAD, PuffinVector, file_size
from sluicegate.tables.iceberg.vector_blobs import FRAME, INLINE, Vector
from sluicegate.tables.snapshot import FileSet

# Clients that need these files read all of a file, and its vectors are in memory at once.
_FILE_VECTORS = 256
_FILE_BYTES = 8 << 20
_LARGEST_VECTOR = 32 << 20

_KINDS = pa.array([INLINE, DERIVED])
_STORED = len(_KINDS)  # stored vectors come last, and only for clients that cannot read them in place


class VectorLayout:
    """The deletion vectors of a view, in generated files.

    Args:
        files: The files of the view.
        stored: Whether generated files contain the vectors that the table has in its own files, too.
            Other vectors have the same places, with and without them.

    Raises:
        TableUnreadable: A descriptor is malformed, or a data file has two vectors.
        UnsupportedOperation: A vector is too large for a generated file.
    """

    def __init__(self, files: FileSet, *, stored: bool) -> None:
        self._vectors = _sorted_vectors(files, stored=stored)
        self._paths = self._vectors.column("path")
        kinds = self._vectors.column("kind").to_pylist()
        self._segments = [bisect_left(kinds, kind) for kind in range(_STORED + 1)] + [len(kinds)]
        self._starts, self._offsets = _places(kinds, self._vectors.column("size").to_pylist())
        self._sizes: dict[int, int] = {}

    def place(self, path: str, vector: Vector) -> tuple[int, int]:
        """The number of the file with the vector of a data file, and the offset of its blob.

        Args:
            path: The data file, as in the snapshot.
            vector: Its vector.

        Raises:
            UnsupportedOperation: The view does not have this vector for this file.
        """
        kind = _STORED if vector.stored else _KINDS.index(vector.kind).as_py()
        first, end = self._segments[kind], self._segments[kind + 1]
        row = bisect_left(self._paths, path, first, end, key=_text)
        if row == end or self._paths[row].as_py() != path or self._vector(row) != vector:
            raise UnsupportedOperation(
                "an incremental scan cannot read a deletion vector that the last snapshot does not "
                "have: read the snapshots"
            )
        return bisect_right(self._starts, row) - 1, self._offsets[row]

    def members(self, number: int) -> list[tuple[str, Vector]]:
        """The data files and vectors of a file.

        Raises:
            NotFound: The view has no file with this number.
        """
        if number >= len(self._starts):
            raise NotFound("this table has no such file of deletion vectors: plan the scan again")
        start = self._starts[number]
        after = number + 1
        end = self._starts[after] if after < len(self._starts) else len(self._paths)
        paths = texts(self._paths.slice(start, end - start))
        return [(path, self._vector(row)) for row, path in enumerate(paths, start)]

    def file_size(self, number: int, paths: ViewPaths) -> int:
        """Bytes of a file, whose footer contains the view's paths; raises as `members` does."""
        if number not in self._sizes:
            self._sizes[number] = file_size(described(self.members(number), paths))
        return self._sizes[number]

    def _vector(self, row: int) -> Vector:
        vector = Vector.parse(self._vectors.column("vector")[row].as_py())
        if vector is None:
            raise TableUnreadable("the table contains a malformed deletion vector")
        return vector


def described(members: Sequence[tuple[str, Vector]], paths: ViewPaths) -> list[PuffinVector]:
    """The members of a file with the view's paths."""
    data_files = paths.of([path for path, _ in members])
    return [
        PuffinVector(data_file, vector.cardinality, vector.size)
        for data_file, (_, vector) in zip(data_files, members, strict=True)
    ]


def _sorted_vectors(files: FileSet, *, stored: bool) -> pa.Table:
    """Path, vector, kind (its place in the order) and size of the blobs in a layout's order."""
    table = files.table.select(["path", "deletion_vector"])
    present = pc.is_valid(table.column("deletion_vector"))
    table = table.filter(present if files.live is None else pc.and_(present, files.live))
    vectors = table.column("deletion_vector")
    kinds = pc.index_in(pc.struct_field(vectors, "storageType"), value_set=_KINDS)
    sizes = pc.struct_field(vectors, "sizeInBytes").fill_null(-1).cast(pa.int64())
    table = pa.table(
        {
            "path": table.column("path"),
            "vector": vectors,
            "kind": kinds.fill_null(_STORED),
            "size": pc.add(sizes, FRAME),
        }
    )
    wanted = pc.greater(table.column("size"), FRAME)
    if not stored:
        wanted = pc.and_(wanted, pc.less(table.column("kind"), _STORED))
    _check_sizes(table)
    table = table.filter(wanted)
    table = table.take(pc.sort_indices(table, [("kind", "ascending"), ("path", "ascending")]))
    if pc.count_distinct(table.column("path")).as_py() != len(table):
        raise TableUnreadable("the table contains a data file with two deletion vectors")
    return table.combine_chunks()


def _check_sizes(table: pa.Table) -> None:
    if not len(table):
        return
    least, most = pc.min_max(table.column("size")).as_py().values()
    if least < FRAME:
        raise TableUnreadable("the table contains a malformed deletion vector", detail="sizeInBytes")
    if most > _LARGEST_VECTOR:
        raise UnsupportedOperation(
            f"the table contains a deletion vector of {most} bytes, and this client can read at most "
            f"{_LARGEST_VECTOR}: use another protocol, or let the provider rewrite the data file"
        )


def _places(kinds: Sequence[int], sizes: Sequence[int]) -> tuple[array[int], array[int]]:
    """The first row of each file, and the offset of each row's blob in its file."""
    starts, offsets = array("q"), array("q")
    kind, count, offset = -1, 0, HEAD
    for row, (its_kind, size) in enumerate(zip(kinds, sizes, strict=True)):
        full = count == _FILE_VECTORS or offset + size > _FILE_BYTES
        if full or its_kind != kind:
            starts.append(row)
            kind, count, offset = its_kind, 0, HEAD
        offsets.append(offset)
        count, offset = count + 1, offset + size
    return starts, offsets


def _text(scalar: pa.Scalar) -> str:
    return str(scalar.as_py())
