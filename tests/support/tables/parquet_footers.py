"""Parquet files that no writer makes."""

from __future__ import annotations

import re
import struct

# A histogram of two or three definition levels that ends `SizeStatistics`, behind an empty one.
_LEVELS = rb"\x19\x06\x19(?:(\x26)([\x00-\x7f])|(\x36)([\x00-\x7f]{2}))[\x00-\x7f]\x00"


def nested_schema(levels: int) -> bytes:
    """A file without rows whose schema has groups in groups (parquet.thrift, `FileMetaData`)."""
    nodes = [_node(b"schema"), _node(b"add"), *(_node(b"x") for _ in range(levels)), _leaf(b"leaf")]
    schema = b"\x19\xfc" + _varint(len(nodes)) + b"".join(nodes)
    footer = b"\x15\x02" + schema + b"\x16\x00" + b"\x19\x0c" + b"\0"
    return of_footer(footer)


def wide_schema(columns: int) -> bytes:
    """A file without rows that has very many columns, each of seven bytes."""
    schema = b"\x19\xfc" + _varint(columns + 1) + _root(b"schema", columns) + _leaf(b"") * columns
    return of_footer(b"\x15\x02" + schema + b"\x16\x00" + b"\x19\x0c" + b"\0")


def of_footer(footer: bytes) -> bytes:
    """A file that consists of a footer."""
    return b"PAR1" + footer + struct.pack("<I4s", len(footer), b"PAR1")


def contradicted(data: bytes) -> bytes:
    """A file whose size statistics know fewer definition levels than its schema has."""
    (size,) = struct.unpack("<I", data[-8:-4])
    footer, changes = re.subn(_LEVELS, _one_less, data[-8 - size : -8])
    assert changes
    return data[: -8 - size] + footer + struct.pack("<I4s", len(footer), b"PAR1")


def renamed_groups(data: bytes, name: bytes, other: bytes) -> bytes:
    """A file whose groups of one name have another one, in its schema and in its columns' paths."""
    (size,) = struct.unpack("<I", data[-8:-4])
    old, new = (_varint(len(text)) + text for text in (name, other))
    footer = data[-8 - size : -8].replace(old, new)
    return data[: -8 - size] + footer + struct.pack("<I4s", len(footer), b"PAR1")


def _one_less(levels: re.Match[bytes]) -> bytes:
    header, counts = levels[1] or levels[3], levels[2] or levels[4]
    return b"\x19\x06\x19" + bytes([header[0] - 0x10]) + counts + b"\0"


def _node(name: bytes) -> bytes:
    """A `SchemaElement` with one child: repetition type, name, number of children."""
    return b"\x35\x02" + b"\x18" + _varint(len(name)) + name + b"\x15\x02" + b"\0"


def _root(name: bytes, children: int) -> bytes:
    """A `SchemaElement` with children: name, number of children."""
    return b"\x48" + _varint(len(name)) + name + b"\x15" + _varint(2 * children) + b"\0"


def _leaf(name: bytes) -> bytes:
    """A `SchemaElement` of an integer: type, repetition type, name."""
    return b"\x15\x02" + b"\x25\x02" + b"\x18" + _varint(len(name)) + name + b"\0"


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
