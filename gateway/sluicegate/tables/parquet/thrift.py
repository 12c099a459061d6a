"""Thrift's compact protocol, as far as Parquet's footers and page headers require it.

Source: Thrift compact protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Self

_TRUE, _FALSE, _BYTE, I16, I32, I64, _DOUBLE, BINARY, LIST, _SET, _MAP, STRUCT = range(1, 13)
_MOST_NESTED = 16
_VARINT_BITS = 70
_BITS = {I16: 16, I32: 32, I64: 64}
_LAST_NUMBER = 0x7FFF  # of a field
_PAUSE_BYTES = 4096  # between two pauses, at most, apart from one struct


class ThriftReader:
    """Reads values sequentially."""

    def __init__(
        self, data: memoryview, position: int = 0, pause: Callable[[], None] = lambda: None
    ) -> None:
        self._data = data
        self._pause = pause
        self.position = position
        self._pause_at = position
        self.structs = self.others = 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Numbers and types of a struct's fields. The caller reads or skips each value."""
        if self.position >= self._pause_at:
            self._rest()
        number = seen = 0
        while header := self._byte():
            delta, kind = header >> 4, header & 0xF
            number = number + delta if delta else self.integer(I16)
            # Each field costs as much as the largest number has bits.
            if not 0 <= number <= _LAST_NUMBER or seen >> number & 1:
                raise ValueError("a field occurs twice, or its number is invalid")
            seen |= 1 << number
            yield number, kind

    def integer(self, kind: int) -> int:
        """An integer."""
        value = self._unsigned()
        if value >> _BITS[kind]:
            raise ValueError("an integer has more bits than its type")
        return (value >> 1) ^ -(value & 1)

    def binary(self) -> bytes:
        """Bytes, or a text as UTF-8."""
        size = self._unsigned()
        start = self.position
        self._advance(size)
        return bytes(self._data[start : self.position])

    def list_header(self) -> tuple[int, int]:
        """Number and type of a list's elements."""
        header = self._byte()
        size, kind = header >> 4, header & 0xF
        if size == 15:
            size = self._unsigned()
        if kind == STRUCT:
            self.structs += size
        else:
            self.others += size
        return size, kind

    def skip(self, kind: int, depth: int = 0) -> None:
        """Skip a field's value. The value of a boolean field is contained in its type."""
        if depth > _MOST_NESTED:
            raise ValueError("values are nested too deeply")
        if kind in (I16, I32, I64):
            self._unsigned()
        elif kind == BINARY:
            self._advance(self._unsigned())
        elif kind == STRUCT:
            for _, each in self.fields():
                self.skip(each, depth + 1)
        elif kind in (LIST, _SET):
            size, each = self.list_header()
            self._skip_elements(size, each, depth)
        elif kind in (_BYTE, _DOUBLE):
            self._advance(1 if kind == _BYTE else 8)
        elif kind not in (_TRUE, _FALSE):
            raise ValueError(f"type {kind} is not one that Parquet uses")

    def _skip_elements(self, size: int, kind: int, depth: int) -> None:
        if kind in (_TRUE, _FALSE):
            self._advance(size)
            return
        for _ in range(size):
            if self.position >= self._pause_at:
                self._rest()
            self.skip(kind, depth + 1)

    def _rest(self) -> None:
        self._pause_at = self.position + _PAUSE_BYTES
        self._pause()

    def _byte(self) -> int:
        value = self._data[self.position]
        self.position += 1
        return value

    def _unsigned(self) -> int:
        data, position = self._data, self.position
        value = shift = 0
        while (byte := data[position]) & 0x80:  # thousands of times for a footer
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > _VARINT_BITS:
                raise ValueError("an integer has more than 64 bits")
            position += 1
        self.position = position + 1
        return value | byte << shift

    def _advance(self, size: int) -> None:
        self.position += size
        if self.position > len(self._data):
            raise IndexError("the data is truncated")


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
