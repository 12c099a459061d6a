"""The subset of protobuf that Hadoop's token files use: varints and length-delimited fields."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.vending.hadoop.wire import Input

_DELIMITED = 2
_LONGEST_VARINT = 10


def varint(value: int) -> bytes:
    """An unsigned varint."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def read_varint(data: Input) -> int:
    """An unsigned varint."""
    value = 0
    for position in range(_LONGEST_VARINT):
        byte = data.byte()
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value
    data.fail("a truncated protobuf number")


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field: bytes, a string in UTF-8, or a message."""
    return varint(number << 3 | _DELIMITED) + varint(len(content)) + content


def fields(data: Input) -> Iterator[tuple[int, bytes]]:
    """Numbers and contents of a message's length-delimited fields; others are passed over."""
    while data.remaining:
        number, wire_type = divmod(read_varint(data), 8)
        match wire_type:
            case 2:
                yield number, data.take(read_varint(data))
            case 0:
                read_varint(data)
            case 1:
                data.take(8)
            case 5:
                data.take(4)
            case _:
                data.fail("a protobuf field of an unknown type")
