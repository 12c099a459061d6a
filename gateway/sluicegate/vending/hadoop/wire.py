"""Hadoop's Writable encodings: VInt, VLong, Text, byte arrays, 64-bit integers.

All input is untrusted: nothing is read beyond the end, and errors never repeat the input.
"""

from __future__ import annotations

from typing import Never

from sluicegate.api.errors import InvalidRequest

# Maximum length of text that `Text.readFields` accepts by default.
LONGEST_TEXT = 1024 * 1024
_INT_BITS, _LONG_BITS = 32, 64
_SMALLEST_SINGLE = -112


class MalformedToken(InvalidRequest):
    """The bytes are not a valid delegation token or token file."""


class Input:
    """Reads values sequentially."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._at = 0
        self._what = what

    @property
    def remaining(self) -> int:
        """Number of remaining bytes."""
        return len(self._data) - self._at

    def fail(self, problem: str) -> Never:
        """Reject the bytes, with the position of the problem."""
        raise MalformedToken(f"{self._what} is malformed at byte {self._at}: {problem}")

    def take(self, count: int) -> bytes:
        """Read the next bytes."""
        if not 0 <= count <= self.remaining:
            self.fail(f"{count} bytes are announced, {self.remaining} are left")
        start, self._at = self._at, self._at + count
        return self._data[start : self._at]

    def byte(self) -> int:
        """Read the next byte, unsigned."""
        return self.take(1)[0]

    def vint(self) -> int:
        """Read a VInt."""
        return self._variable(_INT_BITS)

    def vlong(self) -> int:
        """Read a VLong."""
        return self._variable(_LONG_BITS)

    def int64(self) -> int:
        """A big-endian 64-bit integer."""
        return int.from_bytes(self.take(8), signed=True)

    def blob(self) -> bytes:
        """Read a byte array, which follows its length as a VInt."""
        return self.take(self.vint())

    def text(self, limit: int = LONGEST_TEXT) -> str:
        """Read a Text: UTF-8, which follows its length as a VInt."""
        length = self.vint()
        if length > limit:
            self.fail(f"a text of {length} bytes, but at most {limit} are allowed")
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            self.fail("a text that is not UTF-8")

    def end(self) -> None:
        """Check that no bytes remain."""
        if self.remaining:
            self.fail(f"{self.remaining} bytes follow where it should end")

    def _variable(self, bits: int) -> int:
        first = int.from_bytes(self.take(1), signed=True)
        if first >= _SMALLEST_SINGLE:
            return first
        negative = first < -120
        magnitude = int.from_bytes(self.take(-120 - first if negative else -112 - first))
        if magnitude >> (bits - 1):
            self.fail(f"a number of more than {bits} bits")
        return ~magnitude if negative else magnitude


def vint(value: int) -> bytes:
    """Encode a VInt. A VLong of the same value has the same encoding."""
    if _SMALLEST_SINGLE <= value <= 127:
        return value.to_bytes(1, signed=True)
    magnitude = ~value if value < 0 else value
    size = -(-magnitude.bit_length() // 8)
    prefix = (-120 if value < 0 else -112) - size
    return prefix.to_bytes(1, signed=True) + magnitude.to_bytes(size)


def int64(value: int) -> bytes:
    """A big-endian 64-bit integer."""
    return value.to_bytes(8, signed=True)


def blob(data: bytes) -> bytes:
    """Encode a byte array, preceded by its length."""
    return vint(len(data)) + data


def text(value: str, limit: int = LONGEST_TEXT, *, name: str = "a name") -> bytes:
    """Encode a Text."""
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"{name} is not valid Unicode, so a token cannot contain it") from None
    if len(data) > limit:
        raise InvalidRequest(
            f"{name} has {len(data)} bytes; Hadoop reads at most {limit} of it in a token"
        )
    return blob(data)
