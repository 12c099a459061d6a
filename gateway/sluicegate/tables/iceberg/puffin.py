"""Puffin files with deletion vectors, for Iceberg clients that cannot read vectors where they are.

Source: Puffin specification, "deletion-vector-v1 blob type".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

HEAD: Final = 4
"""Where the first blob starts, in bytes."""

_MAGIC = b"PFA1"
_TRAILER = struct.Struct("<i4s4s")  # size of the footer's payload, flags, magic
_NO_FLAGS = bytes(4)
_ROW_POSITION = 2147483645  # the reserved field id of a row's position
_INHERITED = -1  # the specification requires this snapshot id and sequence number


@dataclass(frozen=True, slots=True)
class PuffinVector:
    """A deletion vector in a file.

    Attributes:
        size: Bytes of the blob.
    """

    data_file: str
    cardinality: int
    size: int


def footer(vectors: Sequence[PuffinVector]) -> bytes:
    """The footer of a file with these vectors in this order, without gaps."""
    payload = orjson.dumps({"blobs": list(_described(vectors))})
    return b"%b%b%b" % (_MAGIC, payload, _TRAILER.pack(len(payload), _NO_FLAGS, _MAGIC))


def file_size(vectors: Sequence[PuffinVector]) -> int:
    """Bytes of the file, which are known before the vectors themselves."""
    return HEAD + sum(vector.size for vector in vectors) + len(footer(vectors))


def puffin_file(vectors: Sequence[PuffinVector], blobs: Sequence[bytes]) -> bytes:
    """The file."""
    for vector, blob in zip(vectors, blobs, strict=True):
        if len(blob) != vector.size:
            raise ValueError(f"a blob has {len(blob)} bytes instead of {vector.size}")
    return b"".join((_MAGIC, *blobs, footer(vectors)))


def _described(vectors: Sequence[PuffinVector]) -> Iterator[dict[str, object]]:
    offset = HEAD
    for vector in vectors:
        yield {
            "type": "deletion-vector-v1",
            "fields": [_ROW_POSITION],
            "snapshot-id": _INHERITED,
            "sequence-number": _INHERITED,
            "offset": offset,
            "length": vector.size,
            "properties": {
                "referenced-data-file": vector.data_file,
                "cardinality": str(vector.cardinality),
            },
        }
        offset += vector.size
