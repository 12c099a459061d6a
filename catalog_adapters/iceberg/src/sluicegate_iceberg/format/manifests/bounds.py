"""Translates a manifest's column metrics to Delta's statistics (Delta protocol, "Per-file Statistics").

Values without an exact translation are left out. Bounds are never tight, so `tightBounds` is false.
Timestamps are rounded outwards to milliseconds. Floating-point columns have a maximum only if no
value is NaN, which Delta's readers treat as the greatest value.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson

from sluicegate.api import TableUnreadable
from sluicegate_iceberg.format.metadata.schema import Field, Primitive

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
_LONG = 8  # bytes
_FLOATING = (4, 8)  # bytes
_LONGEST_DECIMAL = 16  # bytes; 38 digits
# Returns a bound as JSON text. Arguments: the encoded value, and whether it is an upper bound. `None`
# if there is none.
Decode = Callable[[bytes, bool], str | None]


@dataclass(frozen=True, slots=True)
class Metric:
    """A column with metrics.

    Attributes:
        decode: Decodes its bounds; `None` for types that have no bounds in Delta.
    """

    id: int
    key: str
    decode: Decode | None
    nan: bool


def metrics_of(columns: Iterable[Field], name: Callable[[Field], str]) -> tuple[Metric, ...]:
    """Return the columns with metrics: top-level columns of primitive types."""
    columns = tuple(columns)
    if len({field.id for field in columns}) < len(columns):
        raise TableUnreadable("several columns of the Iceberg table have the same id")
    return tuple(
        Metric(
            field.id,
            orjson.dumps(name(field)).decode(),
            _decoder(field.type.name),
            field.type.name in ("float", "double"),
        )
        for field in columns
        if isinstance(field.type, Primitive)
    )


def stats_text(file: Mapping[str, Any], metrics: Iterable[Metric]) -> str:
    """Return the statistics of a data file as JSON text."""
    nulls, nans = _by_id(file, "null_value_counts"), _by_id(file, "nan_value_counts")
    lower, upper = _by_id(file, "lower_bounds"), _by_id(file, "upper_bounds")
    minima, maxima, counts = [], [], []
    for metric in metrics:
        if (count := nulls.get(metric.id)) is not None:
            counts.append(f"{metric.key}:{count}")
        if metric.decode is None:
            continue
        if (data := lower.get(metric.id)) is not None and (text := metric.decode(data, False)):
            minima.append(f"{metric.key}:{text}")
        if metric.nan and nans.get(metric.id) != 0:
            continue
        if (data := upper.get(metric.id)) is not None and (text := metric.decode(data, True)):
            maxima.append(f"{metric.key}:{text}")
    return (
        f'{{"numRecords":{file["record_count"]},"tightBounds":false,'
        f'"minValues":{{{",".join(minima)}}},"maxValues":{{{",".join(maxima)}}},'
        f'"nullCount":{{{",".join(counts)}}}}}'
    )


def _by_id(file: Mapping[str, Any], name: str) -> dict[int, Any]:
    return {item["key"]: item["value"] for item in file.get(name) or () if item is not None}


def _decoder(type_: str) -> Decode | None:
    if type_.startswith("decimal"):
        scale = int(type_.rstrip(")").rpartition(",")[2])
        return lambda data, _: _decimal(data, scale)
    return _DECODERS.get(type_)


def _integer(data: bytes, _: bool) -> str | None:
    if len(data) > _LONG:
        return None
    return str(int.from_bytes(data, "little", signed=True))


def _floating(data: bytes, _: bool) -> str | None:
    if len(data) not in _FLOATING:
        return None
    (value,) = struct.unpack("<f" if len(data) == 4 else "<d", data)
    return repr(value) if math.isfinite(value) else None


def _decimal(data: bytes, scale: int) -> str | None:
    if len(data) > _LONGEST_DECIMAL:
        return None
    # Not with `Decimal`, whose context rounds to 28 digits.
    unscaled = int.from_bytes(data, "big", signed=True)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return f"{'-' if unscaled < 0 else ''}{whole}{'.' if scale else ''}{fraction}"


def _date(data: bytes, _: bool) -> str | None:
    if len(data) > _LONG:
        return None
    try:
        day = _FIRST_DAY + timedelta(days=int.from_bytes(data, "little", signed=True))
    except OverflowError:
        return None
    return f'"{day.isoformat()}"'


def _text(data: bytes, _: bool) -> str | None:
    try:
        return orjson.dumps(data.decode()).decode()
    except UnicodeDecodeError:
        return None


def _timestamp(per_millisecond: int, zone: str) -> Decode:
    def decode(data: bytes, upper: bool) -> str | None:
        if len(data) != _LONG:  # a date column that became a timestamp
            return None
        value = int.from_bytes(data, "little", signed=True)
        millis = -(-value // per_millisecond) if upper else value // per_millisecond
        try:
            moment = _EPOCH + timedelta(milliseconds=millis)
        except OverflowError:
            return None
        return f'"{moment.replace(tzinfo=None).isoformat(timespec="milliseconds")}{zone}"'

    return decode


_DECODERS: Mapping[str, Decode] = {
    "int": _integer,
    "long": _integer,
    "float": _floating,
    "double": _floating,
    "date": _date,
    "string": _text,
    "timestamp": _timestamp(1000, ""),
    "timestamptz": _timestamp(1000, "Z"),
    "timestamp_ns": _timestamp(1_000_000, ""),
    "timestamptz_ns": _timestamp(1_000_000, "Z"),
}
