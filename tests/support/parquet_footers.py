"""Parquet files that no writer makes, of their footer alone."""

from __future__ import annotations

import struct


def nested_schema(levels: int) -> bytes:
    """A file without rows whose schema has groups in groups (parquet.thrift, `FileMetaData`)."""
    nodes = [_node(b"schema"), _node(b"add"), *(_node(b"x") for _ in range(levels)), _leaf(b"leaf")]
    schema = b"\x19\xfc" + _varint(len(nodes)) + b"".join(nodes)
    footer = b"\x15\x02" + schema + b"\x16\x00" + b"\x19\x0c" + b"\0"
    return b"PAR1" + footer + struct.pack("<I4s", len(footer), b"PAR1")


def _node(name: bytes) -> bytes:
    """A `SchemaElement` with one child: repetition type, name, number of children."""
    return b"\x35\x02" + b"\x18" + _varint(len(name)) + name + b"\x15\x02" + b"\0"


def _leaf(name: bytes) -> bytes:
    """A `SchemaElement` of an integer: type, repetition type, name."""
    return b"\x15\x02" + b"\x25\x02" + b"\x18" + _varint(len(name)) + name + b"\0"


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
