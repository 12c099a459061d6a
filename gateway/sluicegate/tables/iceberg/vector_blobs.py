"""Deletion vectors of snapshots as blobs of Iceberg.

A vector in a file of a Delta table and a `deletion-vector-v1` blob are the same bytes: length, magic
number, bitmap and checksum. Sources: Delta protocol, "Deletion Vectors"; Puffin specification,
"deletion-vector-v1 blob type".
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.delta import z85
from sluicegate.tables.delta.vector_files import location as vector_location
from sluicegate.tables.derived_files import DERIVED
from sluicegate.tables.snapshot import FileSet

FRAME: Final = 8
"""Bytes of a blob before and after the vector: its length and its checksum."""

FIRST: Final = 1
"""The offset of a vector whose descriptor has none: after the version of the file's format."""

INLINE: Final = "i"
"""The `storageType` of vectors that the descriptor contains."""

_BEFORE = _AFTER = FRAME // 2
_COUNT = struct.Struct(">I")
_MAGIC = struct.pack("<I", 1681511377)
_SMALLEST = 12  # bytes: magic number, and the number of bitmaps
_LARGEST = (1 << 31) - 1 - FRAME  # clients read sizes as 32-bit integers
_GENERATED = (INLINE, DERIVED)
_VALUES = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")


@dataclass(frozen=True, slots=True)
class Vector:
    """A deletion vector's descriptor.

    Attributes:
        size: Bytes of the blob.
    """

    kind: str
    text: str
    offset: int
    size: int
    cardinality: int

    @classmethod
    def of(
        cls,
        kind: str | None,
        text: str | None,
        offset: int | None,
        size: int | None,
        cardinality: int | None,
    ) -> Self | None:
        """The vector with these values of a `DELETION_VECTOR`. `None` if it deletes nothing."""
        if kind == INLINE and size == 0 and cardinality == 0:
            return None
        if kind is None or text is None or size is None or cardinality is None:
            raise _malformed("a value is missing")
        if not _SMALLEST <= size <= _LARGEST:
            raise _malformed(f"sizeInBytes {size}")
        if cardinality < 0:
            raise _malformed(f"cardinality {cardinality}")
        if offset is None:
            offset = FIRST
        if offset < 0:
            raise _malformed(f"offset {offset}")
        return cls(kind, text, offset, size + FRAME, cardinality)

    @property
    def stored(self) -> bool:
        """Whether the blob is in a file of the table."""
        return self.kind not in _GENERATED

    def location(self, root: str) -> str:
        """The location of the file of a stored vector."""
        located = vector_location(root, {"storageType": self.kind, "pathOrInlineDv": self.text})
        if located is None:
            raise _malformed("an inline vector has no file")
        return located

    def inline_blob(self) -> bytes:
        """The blob of an inline vector."""
        size = self.size - FRAME
        if len(self.text) != -(-size // 4) * 5:
            raise _malformed("an inline vector has another size")
        try:
            payload = z85.decode(self.text)[:size]
        except ValueError:
            raise _malformed("an inline vector is not Z85") from None
        return self.checked(b"%b%b%b" % (_COUNT.pack(size), payload, _COUNT.pack(zlib.crc32(payload))))

    def payload(self, blob: bytes) -> bytes:
        """The vector in its blob."""
        return blob[_BEFORE:-_AFTER]

    def checked(self, blob: bytes) -> bytes:
        """The blob, if it is intact."""
        payload = memoryview(blob)[4:-4]
        if (
            len(blob) != self.size
            or _COUNT.unpack(blob[:4])[0] != len(payload)
            or payload[:4] != _MAGIC
            or _COUNT.unpack(blob[-4:])[0] != zlib.crc32(payload)
        ):
            raise TableUnreadable(
                "a deletion vector of the table is damaged",
                detail=f"its file does not have it at {self.offset}",
            )
        return blob


def vectors_of(column: pa.ChunkedArray) -> list[Vector | None]:
    """The vectors in a column of `DELETION_VECTOR`; raises as `Vector.of` does."""
    values = [pc.struct_field(column, name).to_pylist() for name in _VALUES]
    return [
        Vector.of(*each) if present else None
        for present, each in zip(column.is_valid().to_pylist(), zip(*values, strict=True), strict=True)
    ]


def generated_vectors(files: FileSet) -> bool:
    """Whether a live file has a vector that is not stored in a file of the table."""
    if not files.deletion_vectors:
        return False
    kinds = pc.struct_field(files.table.column("deletion_vector"), "storageType")
    generated = pc.is_in(kinds, value_set=pa.array(_GENERATED))
    return bool(pc.any(generated if files.live is None else pc.and_(generated, files.live)).as_py())


def _malformed(detail: str) -> TableUnreadable:
    return TableUnreadable("the table contains a malformed deletion vector", detail=detail)
