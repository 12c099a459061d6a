"""Builds Delta's descriptors of deletion vectors, and parses Iceberg's blobs."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from pyroaring import BitMap64

from sluicegate.api import TableUnreadable
from sluicegate.formats import DERIVED, DerivedFile
from sluicegate_iceberg.format.deletes.recipes import Recipe, recipe_text

# Spark supports strings of at most 65,535 characters.
MAX_INLINE = 52_428
_MAGIC = struct.pack("<I", 1681511377)
_FRAME = 4  # bytes of the length before the payload, and of the checksum after it
_COUNT = struct.Struct(">I")
_FILE_VERSION = b"\1"
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_TO_Z85 = bytes.maketrans(_B85, _Z85)


def payload_of(rows: BitMap64) -> bytes:
    """Return the serialized vector (Delta protocol, "Deletion Vector Format")."""
    rows.run_optimize()
    return _MAGIC + bytes(rows.serialize())


def payload_in(blob: bytes) -> bytes:
    """Return the vector in a Puffin blob (Puffin specification, "deletion-vector-v1 blob type")."""
    payload = blob[_FRAME:-_FRAME]
    if (
        len(blob) < 2 * _FRAME + len(_MAGIC)
        or _COUNT.unpack(blob[:_FRAME])[0] != len(payload)
        or _COUNT.unpack(blob[-_FRAME:])[0] != zlib.crc32(payload)
        or not payload.startswith(_MAGIC)
    ):
        raise TableUnreadable("a deletion vector of the Iceberg table is broken")
    return payload


def vector_file(payload: bytes) -> bytes:
    """Return a file that contains one vector (Delta protocol, "Deletion Vector Files")."""
    return b"".join(
        (_FILE_VERSION, _COUNT.pack(len(payload)), payload, _COUNT.pack(zlib.crc32(payload)))
    )


def cardinality_of(payload: bytes) -> int:
    """Return the number of rows that a vector marks."""
    try:
        return len(BitMap64.deserialize(payload[len(_MAGIC) :]))
    except (ValueError, IndexError, OverflowError, MemoryError) as error:
        raise TableUnreadable(
            "a deletion vector of the Iceberg table is broken", detail=str(error)
        ) from error


def descriptor(payload: bytes, cardinality: int, recipe: Recipe) -> dict[str, Any]:
    """Return a descriptor ("Deletion Vector Descriptor Schema"), with the vector inline if it fits.

    Args:
        recipe: Describes how to create a large one again when a recipient fetches it.
    """
    told = {"sizeInBytes": len(payload), "cardinality": cardinality}
    if len(payload) > MAX_INLINE:
        file = DerivedFile.of(vector_file(payload), recipe_text(recipe))
        start = len(_FILE_VERSION)
        return {"storageType": DERIVED, "pathOrInlineDv": str(file), "offset": start, **told}
    padded = payload + bytes(-len(payload) % 4)
    return {
        "storageType": "i",
        "pathOrInlineDv": z85(padded),
        **told,
    }


def z85(data: bytes) -> str:
    """Encode bytes, whose number is a multiple of four, as text (ZeroMQ RFC 32)."""
    return base64.b85encode(data).translate(_TO_Z85).decode()
