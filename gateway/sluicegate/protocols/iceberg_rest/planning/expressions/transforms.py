"""Transforms of partition values.

Source: Iceberg specification, "Partition Transforms" and "Appendix B: 32-bit Hash Requirements".

Plans decide them, because Java compares the value of an identity partition with the literal of a
transform as if it were not transformed.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

from sluicegate.tables.predicates.moments import DAY

_HOUR = 3_600_000_000
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_PARAMETERIZED = re.compile(r"(bucket|truncate)\[(\d{1,9})\]")
_SCALE = re.compile(r"decimal\(\s*\d+\s*,\s*(\d+)\s*\)")
_DATES = ("date", "timestamp", "timestamptz")
_MASK = 0xFFFFFFFF

Function = Callable[[Any], Any]


def transform_of(transform: str, primitive: str) -> tuple[Function, str] | None:
    """A transform of non-null values of a type, and the type of its results.

    Returns:
        `None` if the transform is unknown or the type does not have it.
    """
    if found := _PARAMETERIZED.fullmatch(transform):
        parameter = int(found[2])
        if not parameter:
            return None
        if found[1] == "bucket":
            write = _hashed_bytes(primitive)
            return None if write is None else (partial(_bucket, parameter, write), "int")
        cut = _truncation(parameter, primitive)
        return None if cut is None else (cut, primitive)
    if primitive not in _DATES:
        return None
    days = _same if primitive == "date" else _day
    match transform:
        case "year":
            return lambda value: _months(days(value)) // 12, "int"
        case "month":
            return lambda value: _months(days(value)), "int"
        case "day":
            return days, "date"
        case "hour" if primitive != "date":
            return lambda value: value // _HOUR, "int"
    return None


def _same(value: Any) -> Any:
    return value


def _day(micros: int) -> int:
    return micros // DAY


def _months(days: int) -> int:
    found = date.fromordinal(days + _EPOCH_DAY)
    return (found.year - 1970) * 12 + found.month - 1


def _truncation(width: int, primitive: str) -> Function | None:
    if primitive in ("int", "long"):
        return lambda value: value - value % width
    if primitive in ("string", "binary"):
        return lambda value: value[:width]
    if decimal := _SCALE.fullmatch(primitive):
        scale = int(decimal[1])
        return lambda value: _scaled(_unscaled(value, scale) // width * width, scale)
    return None


def _unscaled(value: Decimal | int, scale: int) -> int:
    sign, digits, exponent = Decimal(value).as_tuple()
    shift = int(exponent) + scale
    factor: int = 10 ** abs(shift)
    whole = int("".join(map(str, digits)))
    whole = whole * factor if shift >= 0 else whole // factor
    return -whole if sign else whole


def _scaled(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _hashed_bytes(primitive: str) -> Callable[[Any], bytes] | None:
    if primitive in ("int", "long", *_DATES):
        return lambda value: int(value).to_bytes(8, "little", signed=True)
    if primitive == "string":
        return str.encode
    if primitive == "binary":
        return bytes
    if primitive == "uuid":
        return _uuid_bytes
    if decimal := _SCALE.fullmatch(primitive):
        scale = int(decimal[1])
        return lambda value: two_complement(_unscaled(value, scale))
    return None


def _uuid_bytes(value: uuid.UUID) -> bytes:
    return value.bytes


def two_complement(value: int) -> bytes:
    """The fewest bytes of an integer in two's complement, big-endian."""
    return value.to_bytes((8 + (value + (value < 0)).bit_length()) // 8, "big", signed=True)


def _bucket(count: int, write: Callable[[Any], bytes], value: Any) -> int:
    return (murmur3(write(value)) & 0x7FFFFFFF) % count


def murmur3(data: bytes) -> int:
    """The 32-bit hash Murmur3 (x86 variant, seed 0) as an unsigned integer."""
    hashed, whole = 0, len(data) & ~3
    for at in range(0, whole, 4):
        hashed ^= _mixed(int.from_bytes(data[at : at + 4], "little"))
        hashed = (_rotated(hashed, 13) * 5 + 0xE6546B64) & _MASK
    hashed ^= _mixed(int.from_bytes(data[whole:], "little")) ^ len(data)
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _MASK
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _MASK
    return hashed ^ hashed >> 16


def _mixed(block: int) -> int:
    return _rotated(block * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK
