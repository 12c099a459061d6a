"""Writes Thrift's compact protocol, as far as Parquet's footers and page headers require it.

Source: Thrift compact protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from sluicegate.tables.parquet.thrift import BINARY, LIST, STRUCT

_FEWEST_LONG = 15  # elements of a list whose header has its size in further bytes


class ThriftStruct:
    """A struct. Its fields are added in the order of their numbers, which differ by at most 15."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._last = 0

    def integer(self, number: int, kind: int, value: int) -> Self:
        """Add an integer of type `I32` or `I64`."""
        return self._field(number, kind, zigzag(value))

    def integers(self, number: int, kind: int, values: Sequence[int]) -> Self:
        """Add a list of integers."""
        return self._list(number, kind, [zigzag(value) for value in values])

    def text(self, number: int, value: str) -> Self:
        """Add a text."""
        return self._field(number, BINARY, _text(value))

    def texts(self, number: int, values: Sequence[str]) -> Self:
        """Add a list of texts."""
        return self._list(number, BINARY, [_text(value) for value in values])

    def struct(self, number: int, value: ThriftStruct) -> Self:
        """Add a struct."""
        return self._field(number, STRUCT, value.done())

    def structs(self, number: int, values: Sequence[ThriftStruct]) -> Self:
        """Add a list of structs."""
        return self._list(number, STRUCT, [value.done() for value in values])

    def done(self) -> bytes:
        """The serialized struct."""
        return bytes(self._data) + b"\0"

    def _list(self, number: int, kind: int, values: Sequence[bytes]) -> Self:
        size = len(values)
        long = size >= _FEWEST_LONG
        header = bytes((0xF0 | kind,)) + varint(size) if long else bytes((size << 4 | kind,))
        return self._field(number, LIST, header + b"".join(values))

    def _field(self, number: int, kind: int, value: bytes) -> Self:
        self._data.append((number - self._last) << 4 | kind)
        self._data += value
        self._last = number
        return self


def varint(value: int) -> bytes:
    """An unsigned integer."""
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def zigzag(value: int) -> bytes:
    """An integer of at most 64 bits, with its sign."""
    return varint((value << 1) ^ (value >> 63))


def _text(value: str) -> bytes:
    encoded = value.encode()
    return varint(len(encoded)) + encoded
