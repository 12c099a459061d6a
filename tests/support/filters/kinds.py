"""Primitive types for random tables and filters: their values, and values that are just beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from random import Random
from typing import Any

import pyarrow as pa
from support.tables.predicate_kinds import single

_EXACT = Context(prec=50)
_FIRST, _LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)
_CHARACTERS = "ab?'`\"\\%_ é\x7f\ufffd\ue000\U0001f600\U0010ffff"
_TIE_BREAKERS = ("\ufffd", "\U0010ffff")  # after the maxima that Delta Lake cuts off
_LONG = (*["x" * 32] * 3, "x" * 31, "y" * 40, "\U0001f600" * 16, "x" * 30 + "\U0010ffff" * 3)


@dataclass(frozen=True)
class FilterKind:
    """A column type."""

    delta: str
    arrow: pa.DataType
    draw: Callable[[Random], Any]
    beside: Callable[[Random, Any], Any]

    @property
    def is_text(self) -> bool:
        return self.delta == "string"

    @property
    def is_float(self) -> bool:
        return self.delta in ("float", "double")


def is_nan(value: Any) -> bool:
    """Whether a value is the floating-point number NaN."""
    return isinstance(value, float) and math.isnan(value)


def _integers(delta: str, arrow: pa.DataType, bits: int) -> FilterKind:
    limit = 1 << (bits - 1)
    edges = (0, 1, -1, limit - 1, -limit, *((1 << 53, (1 << 53) + 1) if bits == 64 else ()))

    def draw(rng: Random) -> int:
        return rng.choice((rng.choice(edges), rng.randint(-9, 9), rng.randrange(-limit, limit)))

    def beside(rng: Random, value: int) -> int:
        return max(-limit, min(limit - 1, value + rng.randint(-1, 1)))

    return FilterKind(delta, arrow, draw, beside)


def _decimals(precision: int, scale: int) -> FilterKind:
    limit = 10**precision - 1

    def value_of(units: int) -> Decimal:
        return Decimal(max(-limit, min(limit, units))).scaleb(-scale, _EXACT)

    def draw(rng: Random) -> Decimal:
        whole = 10**scale * rng.randint(-9, 9)
        edge = rng.choice((0, limit, -limit))
        return value_of(rng.choice((whole, edge, rng.randint(-300, 300), rng.randint(-limit, limit))))

    def beside(rng: Random, value: Decimal) -> Decimal:
        return value_of(int(value.scaleb(scale, _EXACT)) + rng.randint(-1, 1))

    return FilterKind(f"decimal({precision},{scale})", pa.decimal128(precision, scale), draw, beside)


def _double(rng: Random) -> float:
    edges = (0.0, -0.0, 0.1, 1e300, -1e300, 2.0**53, math.nan, math.inf, -math.inf, 5e-324)
    return rng.choice((rng.choice(edges), float(rng.randint(-4, 4)), rng.uniform(-100, 100)))


def _single(rng: Random) -> float:
    edges = (0.0, -0.0, single(0.1), 3.4e38, math.nan, math.inf, -math.inf, 16777216.0)
    return single(rng.choice((rng.choice(edges), float(rng.randint(-4, 4)), rng.uniform(-100, 100))))


def _beside_double(rng: Random, value: float) -> float:
    return math.nextafter(value, rng.choice((-math.inf, math.inf))) if math.isfinite(value) else value


def _beside_single(rng: Random, value: float) -> float:
    """Another number of single precision, because clients round literals to that."""
    if abs(value) > 1e38 or not math.isfinite(value):
        return value
    return rng.choice((single(value + 0.5), single(value - 0.5), single(value * 1.0000002)))


def _text(rng: Random) -> str:
    tail = "".join(rng.choices(_CHARACTERS, k=rng.randint(0, 4)))
    if rng.random() < 0.5:
        return rng.choice(_LONG) + rng.choice(("", *_TIE_BREAKERS, "\U0001f600")) + tail
    return tail


def _beside_text(rng: Random, value: str) -> str:
    if not value:
        return rng.choice(("", "a"))
    return rng.choice((value[:-1], value[: len(value) // 2], value + "a", value[:-1] + "b", value[:1]))


def _bytes(rng: Random) -> bytes:
    return rng.randbytes(rng.randint(0, 4)) * rng.choice((1, 1, 20))


def _beside_bytes(rng: Random, value: bytes) -> bytes:
    return rng.choice((value[:-1], value + b"\x00", value + b"\xff"))


def _date(rng: Random) -> date:
    edges = (date.min, date.max, date(1969, 12, 31), date(1970, 1, 1), date(1582, 10, 10))
    near = date(1970, 1, 1) + timedelta(days=rng.randint(-400, 400))
    return rng.choice((rng.choice(edges), near, near))


def _beside_date(rng: Random, value: date) -> date:
    return date.fromordinal(max(1, min(date.max.toordinal(), value.toordinal() + rng.randint(-1, 1))))


def _moment(rng: Random) -> datetime:
    near = datetime(1970, 1, 1) + timedelta(microseconds=rng.randint(-(10**13), 10**13))
    edges = (_FIRST, _LAST, datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1))
    return rng.choice((rng.choice(edges), near, near.replace(microsecond=0)))


def _beside_moment(rng: Random, value: datetime) -> datetime:
    """Within the millisecond to which statistics cut it, or outside of it."""
    zone, local = value.tzinfo, value.replace(tzinfo=None)
    step = timedelta(microseconds=rng.choice((-1000, -999, -1, 0, 1, 999, 1000)))
    if not _FIRST - local <= step <= _LAST - local:
        step = timedelta()
    return (local + step).replace(tzinfo=zone)


KINDS: Mapping[str, FilterKind] = {
    kind.delta: kind
    for kind in (
        FilterKind("boolean", pa.bool_(), lambda rng: rng.random() < 0.5, lambda rng, value: not value),
        _integers("byte", pa.int8(), 8),
        _integers("short", pa.int16(), 16),
        _integers("integer", pa.int32(), 32),
        _integers("long", pa.int64(), 64),
        _decimals(9, 2),
        _decimals(18, 4),
        _decimals(38, 10),
        FilterKind("float", pa.float32(), _single, _beside_single),
        FilterKind("double", pa.float64(), _double, _beside_double),
        FilterKind("string", pa.string(), _text, _beside_text),
        FilterKind("binary", pa.binary(), _bytes, _beside_bytes),
        FilterKind("date", pa.date32(), _date, _beside_date),
        FilterKind(
            "timestamp",
            pa.timestamp("us", "UTC"),
            lambda rng: _moment(rng).replace(tzinfo=UTC),
            _beside_moment,
        ),
        FilterKind("timestamp_ntz", pa.timestamp("us"), _moment, _beside_moment),
    )
}


def partition_value(kind: FilterKind, rng: Random, *, for_pyiceberg: bool) -> Any:
    """A random value that a partition can have.

    PyIceberg 0.12 reads the decimals of a plan only if they are whole numbers, and rounds the doubles
    of manifests to single precision (`CythonBinaryDecoder.read_double`).
    """
    while True:
        value = kind.draw(rng)
        if kind.is_text:
            value = value[-4:]
        if isinstance(value, Decimal):
            value = _partition_decimal(kind, value, whole=for_pyiceberg)
        if for_pyiceberg and kind.is_float and _fits_a_folder(value):
            value = single(value)
        if value != "" and (not kind.is_float or _fits_a_folder(value)):  # null is written as ""
            return value


def _partition_decimal(kind: FilterKind, value: Decimal, *, whole: bool) -> Decimal:
    """A whole number, or one that is not negative: delta-rs writes the partition of -1.5 as `-1.-5`."""
    if not whole:
        return value.copy_abs()
    return Decimal(int(value)).quantize(Decimal(1).scaleb(-kind.arrow.scale), context=_EXACT)


def _fits_a_folder(value: float) -> bool:
    """Folders have the names of partitions, without exponents; and no plan can name NaN or infinity."""
    return value == 0 or 1e-15 < abs(value) < 1e15
