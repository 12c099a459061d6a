"""Values of primitive types: texts of partitions, literals of clients, and JSON single values.

Sources: Delta protocol, "Partition Value Serialization"; Iceberg specification, "JSON
single-value serialization".
"""

from __future__ import annotations

import math
import re
import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, DecimalException, Inexact
from functools import lru_cache, partial
from typing import Any

from sluicegate.tables.canonical_partitions import canonical_value
from sluicegate.tables.predicates.columns import ColumnType, Family
from sluicegate.tables.predicates.moments import days, moment
from sluicegate.tables.predicates.values import number

_WHOLE = re.compile(r"[+-]?\d{1,19}")
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_DIGITS = 50  # more than any decimal has
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Kind:
    """Converts the values of a type. Values that compare equal are equal in Python.

    All three raise `ValueError` for what is not a value of the type.
    """

    of_partition: Callable[[str], Any]
    of_literal: Callable[[Any], Any]
    single_value: Callable[[Any], Any]


@lru_cache(maxsize=256)
def kind_of(primitive: str) -> Kind | None:
    """The kind of a primitive type by its Iceberg name, or `None` if its values are not compared."""
    if decimal := _DECIMAL.fullmatch(primitive):
        scale = int(decimal[2])
        column = ColumnType(primitive, Family.DECIMAL, int(decimal[1]), scale)
        return Kind(_texts(column, _number), _number, partial(_plain_decimal, scale=scale))
    return _KINDS.get(primitive.partition("[")[0])


def _texts(column: ColumnType, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """What reads the texts of a partition column, in all forms that the other protocols rewrite."""
    return lambda text: read(canonical_value(column, text))


def _texts_of(family: Family, read: Callable[[str], Any]) -> Callable[[str], Any]:
    return _texts(ColumnType(family.value, family), read)


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.lower())
    if not isinstance(value, bool):
        raise ValueError("not a boolean")
    return value


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError("not an integer")
    return int(text)


def _number(value: Any) -> Decimal | int:
    """A number. Texts are limited in size, because arithmetic with huge exponents exhausts memory."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("not a number")
    if isinstance(value, int):
        return value
    found = number(str(value))
    if found is None:
        raise ValueError("not a number")
    return found


def _of_integers(value: Any) -> Decimal | int | float:
    """A literal next to integers. Python compares floating-point numbers with them exactly."""
    return value if isinstance(value, float) and math.isfinite(value) else _number(value)


def _double(value: Any) -> float:
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise ValueError("not a finite number")
    return found


def _single(value: Any) -> float:
    """A number of single precision, as the same double for all texts that mean it."""
    try:
        found: float = struct.unpack("<f", struct.pack("<f", _double(value)))[0]
    except OverflowError:
        raise ValueError("not a number of single precision") from None
    return found


def _single_literal(value: Any) -> float:
    """A literal next to single precision: one outside of its range is beyond all values."""
    try:
        return _single(value)
    except ValueError:
        return math.copysign(math.inf, _double(value))


def _shortest(value: float) -> float:
    """The number with the fewest digits that has the same single precision."""
    for digits in range(6, 9):
        short = float(f"{value:.{digits}g}")
        if _single(short) == value:
            return short
    return value


def _plain_decimal(value: Decimal | int, scale: int) -> str:
    try:
        exact = Context(prec=_DIGITS, traps=[Inexact])
        return format(Decimal(value).quantize(Decimal(1).scaleb(-scale), context=exact), "f")
    except DecimalException:
        raise ValueError("not a decimal of this scale") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a string")
    return value


def _date(value: Any) -> int:
    """Days since 1970. Spark's literals are such numbers, PyIceberg's are texts."""
    found = days(value) if isinstance(value, str) else value
    if isinstance(found, bool) or not isinstance(found, int):
        raise ValueError("not a date")
    return found


def _timestamp(value: Any) -> int:
    """Microseconds since 1970. A text without a zone means UTC."""
    found: Any = value
    if isinstance(value, str):
        read = moment(value)
        found = None if read is None else read[0]
    if isinstance(found, bool) or not isinstance(found, int):
        raise ValueError("not a timestamp")
    return found


def date_text(value: int) -> str:
    """A date in ISO 8601. Raises `ValueError` if it has no four-digit year."""
    return _moment(value * 86_400_000_000).date().isoformat()


def timestamp_text(value: int, *, zone: bool) -> str:
    """A timestamp in ISO 8601. Raises `ValueError` if it has no four-digit year."""
    found = _moment(value)
    return (found.replace(tzinfo=UTC) if zone else found).isoformat()


def _moment(micros: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise ValueError("not a date of the years 1 to 9999") from None


def _same(value: Any) -> Any:
    return value


def _hexadecimal(value: Any) -> bytes:
    try:
        return bytes.fromhex(_text(value))
    except ValueError:
        raise ValueError("not hexadecimal") from None


def _uuid(value: Any) -> uuid.UUID:
    try:
        return uuid.UUID(_text(value))
    except ValueError:
        raise ValueError("not a UUID") from None


def _upper_hexadecimal(value: bytes) -> str:
    return value.hex().upper()


_INTEGER = Kind(_texts_of(Family.INTEGER, _whole), _of_integers, _same)
_KINDS: Mapping[str, Kind] = {
    "boolean": Kind(_texts_of(Family.BOOLEAN, _boolean), _boolean, _same),
    "int": _INTEGER,
    "long": _INTEGER,
    "float": Kind(_texts_of(Family.FLOAT, _single), _single_literal, _shortest),
    "double": Kind(_texts_of(Family.FLOAT, _double), _double, _same),
    "string": Kind(_text, _text, _same),
    "date": Kind(_texts_of(Family.DATE, _date), _date, date_text),
    "timestamp": Kind(
        _texts_of(Family.TIMESTAMP_NTZ, _timestamp), _timestamp, partial(timestamp_text, zone=False)
    ),
    "timestamptz": Kind(
        _texts_of(Family.TIMESTAMP, _timestamp), _timestamp, partial(timestamp_text, zone=True)
    ),
    "binary": Kind(str.encode, _hexadecimal, _upper_hexadecimal),
    "uuid": Kind(_uuid, _uuid, str),
}
