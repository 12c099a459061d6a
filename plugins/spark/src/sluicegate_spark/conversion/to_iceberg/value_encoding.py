"""Translates values of Delta's log to Iceberg's manifests: bounds of columns, and partition values.

Sources: Delta protocol, "Per-file Statistics" and "Partition Value Serialization"; Iceberg
specification, "Partition Specs" and "Appendix D: Single-value serialization".
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

from sluicegate.api import TableUnreadable, UnsupportedOperation
from sluicegate.formats import is_saturated

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
_DECIMAL = re.compile(r"decimal\((\d+), (\d+)\)")
_EXACT = Context(prec=80, traps=[Inexact, InvalidOperation])
_PACKED: Mapping[str, str] = {
    "int": "<i",
    "long": "<q",
    "float": "<f",
    "double": "<d",
    "date": "<i",
    "timestamp": "<q",
    "timestamptz": "<q",
}
_REST_OF_MILLISECOND = 999  # microseconds: statistics are truncated to milliseconds
_AVRO: Mapping[str, Any] = {
    **{name: name for name in ("boolean", "int", "long", "float", "double", "string")},
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
}


def bound(value: Any, type_: str, *, upper: bool) -> bytes | None:
    """Return a bound of the log's statistics as Iceberg's bytes, or `None` if it is not exact."""
    try:
        if type_ == "string":
            return str(value).encode()
        if match := _DECIMAL.fullmatch(type_):
            precision, scale = int(match[1]), int(match[2])
            if is_saturated(value, precision, scale):
                return None
            return _shortest(_unscaled(value, scale))
        if (layout := _PACKED.get(type_)) is None:
            return None
        return struct.pack(layout, _number(value, type_, upper=upper))
    except (ValueError, TypeError, ArithmeticError, struct.error):
        return None


def partition_value(text: str | None, type_: str, column: str) -> Any:
    """Return a partition value for Avro's writer. By the protocol, an empty string means null."""
    if not text:
        return None
    try:
        return _partition_value(text, type_, column)
    except (KeyError, ValueError, ArithmeticError) as error:
        raise TableUnreadable(
            f"a value of the partition column '{column}' is not of type {type_}",
            detail=type(error).__name__,
        ) from None


def stored_value(value: Any, type_: str) -> Any:
    """A partition value of a manifest, which Avro's reader converted, as `partition_value` does."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - _FIRST_DAY).days
    if isinstance(value, Decimal) and (match := _DECIMAL.fullmatch(type_)):
        unscaled = _unscaled(value, int(match[2]))
        return unscaled.to_bytes(_bytes_of(int(match[1])), "big", signed=True)
    return value


def partition_bound(value: Any, type_: str, *, upper: bool) -> bytes | None:
    """Return a partition value as a bound of a manifest list, or `None` if the value has no order."""
    if type_ == "string":
        return str(value).encode()
    if type_ == "boolean":
        return bytes([value])
    if _DECIMAL.fullmatch(type_):
        return _shortest(int.from_bytes(value, "big", signed=True))
    if type_ in ("float", "double"):
        # Java sorts -0.0 before 0.0, but rows compare as equal.
        value = value or (0.0 if upper else -0.0)
    return struct.pack(_PACKED[type_], value)


def comparable(value: Any, type_: str) -> Any:
    """Return a partition value, as returned by `partition_value`, in a form that can be compared."""
    if type_ == "float":  # manifests contain the nearest value of 32 bits
        return struct.unpack("<f", struct.pack("<f", value))[0]
    return int.from_bytes(value, "big", signed=True) if _DECIMAL.fullmatch(type_) else value


def comparable_bound(bound: bytes, type_: str) -> Any:
    """Return a bound of a manifest list in the form that `comparable` returns."""
    if type_ == "string":
        return bound.decode()
    if type_ == "boolean":
        return bound != b"\0"
    if _DECIMAL.fullmatch(type_):
        return int.from_bytes(bound, "big", signed=True)
    return struct.unpack(_PACKED[type_], bound)[0]


def avro_type(type_: Any, column: str) -> Any:
    """Return the Avro type of a partition value."""
    if type_ in _AVRO:
        return _AVRO[type_]
    if isinstance(type_, str) and (match := _DECIMAL.fullmatch(type_)):
        precision, scale = int(match[1]), int(match[2])
        return {
            "type": "fixed",
            "name": f"decimal_{precision}_{scale}",
            "size": _bytes_of(precision),
            "logicalType": "decimal",
            "precision": precision,
            "scale": scale,
        }
    raise UnsupportedOperation(
        f"the Delta table is partitioned by column '{column}', whose type Iceberg does not "
        "support for partitions"
    )


def _partition_value(text: str, type_: str, column: str) -> Any:
    if type_ == "string":
        return text
    if type_ == "boolean":
        return {"true": True, "false": False}[text.lower()]
    if type_ in ("float", "double"):
        return float(text)
    if match := _DECIMAL.fullmatch(type_):
        size = _bytes_of(int(match[1]))
        return _unscaled(text, int(match[2])).to_bytes(size, "big", signed=True)
    if type_ == "timestamptz" and datetime.fromisoformat(text).tzinfo is None:
        raise UnsupportedOperation(
            f"values of the partition column '{column}' have no time zone, so they depend on the "
            "time zone of the writer's session: rewrite the table with Delta Lake 3.2 or later, "
            "which stores them in UTC"
        )
    return _number(int(text) if type_ in ("int", "long") else text, type_, upper=False)


def _number(value: Any, type_: str, *, upper: bool) -> Any:
    """Return the number to pack."""
    if type_ in ("float", "double"):
        number = float(value)
        if not math.isfinite(number):
            raise ValueError("no bound")
        # Java sorts -0.0 before 0.0, but rows compare as equal.
        return number or (0.0 if upper else -0.0)
    if type_ == "date":
        return (date.fromisoformat(value) - _FIRST_DAY).days
    if type_.startswith("timestamp"):
        moment = datetime.fromisoformat(value)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1) + (_REST_OF_MILLISECOND if upper else 0)
    if not isinstance(value, int):
        raise TypeError("no integer")
    return value


def _unscaled(value: Any, scale: int) -> int:
    return int(
        _EXACT.scaleb(_EXACT.create_decimal(str(value)), scale).to_integral_exact(context=_EXACT)
    )


def _shortest(unscaled: int) -> bytes:
    magnitude = unscaled if unscaled >= 0 else ~unscaled
    return unscaled.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def _bytes_of(precision: int) -> int:
    """Return how many bytes the largest signed number of this many digits needs."""
    return int((10**precision - 1).bit_length()) // 8 + 1
