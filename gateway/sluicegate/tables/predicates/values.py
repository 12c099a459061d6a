"""Values of the log (partition values, minima and maxima) as ranges in a column's domain.

A range contains all possible actual values, because statistics are rounded and truncated, and differ
between writers.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from sluicegate.tables.predicates.columns import ColumnType, Family
from sluicegate.tables.predicates.moments import BELOW_A_MILLISECOND, days, instant, wall_clock

Span = tuple[Any, Any]

INT64 = range(-(1 << 63), 1 << 63)
DECIMALS = range(1 - 10**38, 10**38)
_MAX_EXPONENT = 100
# Numbers with more digits were never rounded to a double. Others were changed by less than this many
# of their bits, which is nothing for up to 15 digits.
_DOUBLE_DIGITS = 17
_ROUNDED_BITS = 50
# delta-rs 1.6 writes these as the bounds of decimals with values beyond 64 bits.
_SATURATED = (-(1 << 63), 1 - (1 << 63), (1 << 63) - 1)
_LONG_DIGITS = 19  # of the largest 64-bit integer
_INFINITY = 0x7F800000  # as the bits of single precision
_WHOLE = re.compile(r"[+-]?\d{1,19}")
# Delta truncates maxima to 32 characters and appends the largest character as a tie-breaker, by its
# version U+FFFD or U+10FFFF. A character that was split became a question mark before it.
_MAX_UNCUT = 31
_TIE_BREAKERS = "\ufffd\U0010ffff"
_AFTER_ALL_TEXT = b"\xff"


def partition_span(column: ColumnType, text: str) -> Span | None:
    """The value of a partition (Delta Sharing protocol, "Partition Value Serialization").

    Returns:
        `None` if the text is not understood, so that the value is unknown.
    """
    if column.family is Family.DECIMAL:
        return _exact_decimal(column, text)
    if column.family is Family.FLOAT:
        return _float(column, text)
    if column.family is Family.INTEGER:
        return _whole(text)
    if column.family is Family.BOOLEAN:
        return {"true": (1, 1), "false": (0, 0)}.get(text.lower())
    return statistics_span(column, text)


def statistics_span(column: ColumnType, value: Any) -> Span | None:
    """The range for a value in statistics (Delta Sharing protocol, "Per-file Statistics")."""
    read = _STATISTICS.get(column.family)
    return None if read is None else read(column, value)


def maximum(column: ColumnType, value: Any) -> Any:
    """The upper bound for the values of a file whose statistics have this maximum, or `None`.

    Statistics truncate timestamps to milliseconds, and strings to a prefix.
    """
    if column.family is Family.STRING:
        return _string_maximum(value)
    span = statistics_span(column, value)
    if span is None:
        return None
    if column.family in (Family.TIMESTAMP, Family.TIMESTAMP_NTZ):
        return span[1] + BELOW_A_MILLISECOND
    return span[1]


def number(text: str) -> Decimal | None:
    """A finite number of usable size."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    usable = value.is_finite() and "_" not in text and abs(value.adjusted()) <= _MAX_EXPONENT
    return value if usable and len(value.as_tuple().digits) <= _MAX_EXPONENT else None


def can_saturate(precision: int, scale: int) -> bool:
    """Whether a decimal type has values beyond 64 bits, whose bounds delta-rs does not write."""
    return precision - scale >= _LONG_DIGITS


def is_saturated(value: object, precision: int, scale: int) -> bool:
    """Whether a bound in statistics of a decimal column says nothing, because delta-rs saturated it."""
    return value in _SATURATED and can_saturate(precision, scale)


def units(value: Decimal, scale: int) -> tuple[int, int]:
    """The nearest lower and upper integer of a number in units of 10^-scale. Equal if it is one."""
    sign, digits, exponent = value.as_tuple()
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    shift = int(exponent) + scale
    if shift >= 0:
        return (whole * 10**shift,) * 2
    floor, rest = divmod(whole, 10**-shift)
    return floor, floor + bool(rest)


def within(values: range, span: tuple[int, int]) -> Span | None:
    """The span if both of its ends are in a range."""
    return span if span[0] in values and span[1] in values else None


def with_single_precision(value: float) -> Span:
    """The range of all numbers that round to the same single precision, up to infinity."""
    try:
        bits = struct.unpack("i", struct.pack("f", abs(value)))[0]
    except OverflowError:
        bits = _INFINITY
    farther = _single(min(bits + 1, _INFINITY))
    nearer = _single(bits - 1) if bits else -farther
    return (nearer, farther) if value >= 0 else (-farther, -nearer)


def _single(bits: int) -> float:
    value: float = struct.unpack("f", struct.pack("i", bits))[0]
    return value


def _boolean(_: ColumnType, value: Any) -> Span | None:
    return (int(value), int(value)) if isinstance(value, bool) else None


def _integer(_: ColumnType, value: Any) -> Span | None:
    return (value, value) if type(value) is int and value in INT64 else None


def _whole(text: str) -> Span | None:
    return _integer(_NO_COLUMN, int(text)) if _WHOLE.fullmatch(text) else None


def _float(column: ColumnType, value: Any) -> Span | None:
    """A float as double: its text is a short form for single precision, and not that double."""
    try:
        exact = float(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if math.isnan(exact) or isinstance(value, bool):
        return None
    return with_single_precision(exact) if column.was_float else (exact, exact)


def _exact_decimal(column: ColumnType, text: str) -> Span | None:
    value = number(text)
    return None if value is None else within(DECIMALS, units(value, column.scale))


def _decimal(column: ColumnType, value: Any) -> Span | None:
    """A decimal of the statistics, which some writers round to a double first (delta-rs)."""
    if isinstance(value, bool):
        return None
    exact = number(str(value))
    if exact is None or is_saturated(exact, column.precision, column.scale):
        return None
    low, high = units(exact, column.scale)
    if len(exact.as_tuple().digits) <= _DOUBLE_DIGITS:
        error = max(abs(low), abs(high)) >> _ROUNDED_BITS
        low, high = low - error, high + error
    return within(DECIMALS, (low, high))


def _string(_: ColumnType, value: Any) -> Span | None:
    if not isinstance(value, str):
        return None
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        return None
    return encoded, encoded


def _string_maximum(value: Any) -> bytes | None:
    span = _string(_NO_COLUMN, value)
    if span is None:
        return None
    if len(value) > _MAX_UNCUT or value.endswith(tuple(_TIE_BREAKERS)):
        return bytes(value.rstrip(_TIE_BREAKERS + "?").encode() + _AFTER_ALL_TEXT)
    return bytes(span[1])


def _date(_: ColumnType, value: Any) -> Span | None:
    day = days(value) if isinstance(value, str) else None
    return None if day is None else (day, day)


def _timestamp(_: ColumnType, value: Any) -> Span | None:
    return instant(value) if isinstance(value, str) else None


def _timestamp_ntz(_: ColumnType, value: Any) -> Span | None:
    return wall_clock(value) if isinstance(value, str) else None


_NO_COLUMN = ColumnType("", Family.OTHER)
_STATISTICS: Mapping[Family, Callable[[ColumnType, Any], Span | None]] = {
    Family.BOOLEAN: _boolean,
    Family.INTEGER: _integer,
    Family.FLOAT: _float,
    Family.DECIMAL: _decimal,
    Family.STRING: _string,
    Family.DATE: _date,
    Family.TIMESTAMP: _timestamp,
    Family.TIMESTAMP_NTZ: _timestamp_ntz,
}
