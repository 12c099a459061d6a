"""Hadoop's Writable encodings: VInt, VLong, Text, byte arrays, 64-bit integers.

Whatever is read is foreign: nothing is read beyond the end, and no error repeats what was read.
"""

from __future__ import annotations

from typing import Never

from sluicegate.errors import InvalidRequest

# Longest text that `Text.readFields` accepts by default.
LONGEST_TEXT = 1024 * 1024
_INT_BITS, _LONG_BITS = 32, 64
_SMALLEST_SINGLE = -112


class MalformedToken(InvalidRequest):
    """Bytes that should be a delegation token, or a file of tokens, are not."""


class Input:
    """Reads one value after the other.

    Args:
        data: The bytes.
        what: What they are, for errors: `the token file`.
    """

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._at = 0
        self._what = what

    @property
    def remaining(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def fail(self, problem: str) -> Never:
        """Refuse the bytes, saying where.

        Raises:
            MalformedToken: Always.
        """
        raise MalformedToken(f"{self._what} is malformed at byte {self._at}: {problem}")

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if not 0 <= count <= self.remaining:
            self.fail(f"{count} bytes are announced, {self.remaining} are left")
        start, self._at = self._at, self._at + count
        return self._data[start : self._at]

    def byte(self) -> int:
        """The next byte, unsigned."""
        return self.take(1)[0]

    def vint(self) -> int:
        """A VInt."""
        return self._variable(_INT_BITS)

    def vlong(self) -> int:
        """A VLong."""
        return self._variable(_LONG_BITS)

    def int64(self) -> int:
        """A big-endian 64-bit integer."""
        return int.from_bytes(self.take(8), signed=True)

    def blob(self) -> bytes:
        """A byte array after its length as a VInt."""
        return self.take(self.vint())

    def text(self, limit: int = LONGEST_TEXT) -> str:
        """A Text: UTF-8 after its length as a VInt.

        Args:
            limit: Most bytes that Hadoop reads.
        """
        length = self.vint()
        if length > limit:
            self.fail(f"a text of {length} bytes, where {limit} are the most")
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            self.fail("a text that is no UTF-8")

    def end(self) -> None:
        """Make sure that nothing is left."""
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
    """A VInt; a VLong that fits is spelled the same."""
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
    """A byte array after its length."""
    return vint(len(data)) + data


def text(value: str, limit: int = LONGEST_TEXT, *, name: str = "a name") -> bytes:
    """A Text.

    Args:
        value: The text.
        limit: Most bytes that Hadoop reads.
        name: What the text is, for errors.

    Raises:
        InvalidRequest: It is longer, or no valid Unicode.
    """
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"{name} is no valid Unicode, so no token can carry it") from None
    if len(data) > limit:
        raise InvalidRequest(
            f"{name} has {len(data)} bytes; Hadoop reads at most {limit} of it in a token"
        )
    return blob(data)
