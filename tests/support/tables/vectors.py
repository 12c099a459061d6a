"""Deletion vectors made by hand (Delta protocol, "Deletion Vector Format")."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_MAGIC, _ROARING_WITHOUT_RUNS = 1681511377, 12346


def inline_vector(rows: Sequence[int]) -> dict[str, Any]:
    """A descriptor that holds the vector itself."""
    data = _bitmap(rows)
    padded = data + bytes(-len(data) % 4)
    return _descriptor("i", _z85(padded), len(data), len(rows))


def stored_vector(table: Path, rows: Sequence[int]) -> dict[str, Any]:
    """Write a vector's file into a table's folder; its descriptor."""
    name, content, descriptor = vector_file(rows)
    (table / name).write_bytes(content)
    return descriptor


def vector_file(rows: Sequence[int]) -> tuple[str, bytes, dict[str, Any]]:
    """A file with one vector: its name, its bytes and the vector's descriptor."""
    data, name = _bitmap(rows), uuid.uuid4()
    frame = struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    descriptor = {**_descriptor("u", _z85(name.bytes), len(data), len(rows)), "offset": 1}
    return f"deletion_vector_{name}.bin", b"\1" + frame, descriptor


def _descriptor(storage: str, path: str, size: int, cardinality: int) -> dict[str, Any]:
    return {
        "storageType": storage,
        "pathOrInlineDv": path,
        "sizeInBytes": size,
        "cardinality": cardinality,
    }


def _bitmap(rows: Sequence[int]) -> bytes:
    """A 64-bit Roaring bitmap of row numbers below 65,536."""
    values = struct.pack(f"<{len(rows)}H", *sorted(rows))
    head = struct.pack("<IIHHI", _ROARING_WITHOUT_RUNS, 1, 0, len(rows) - 1, 16)
    return struct.pack("<IQI", _MAGIC, 1, 0) + head + values


def _z85(data: bytes) -> str:
    text = ""
    for start in range(0, len(data), 4):
        number = int.from_bytes(data[start : start + 4], "big")
        text += "".join(_ALPHABET[number // 85**place % 85] for place in (4, 3, 2, 1, 0))
    return text
