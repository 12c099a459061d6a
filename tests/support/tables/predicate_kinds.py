"""Column types for property tests of predicates: values, and how writers and clients spell them."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, repr=False)
class Kind:
    """A column type.

    Attributes:
        values: What rows and literals have; sorted as Spark sorts them.
    """

    delta: str
    hint: str
    values: st.SearchStrategy[Any]
    literal: Callable[[Any], str]
    sql: Callable[[Any], str]
    partition: Callable[[Draw, Any, timezone], str]
    least: Callable[[Draw, Any, timezone], str]
    most: Callable[[Draw, Any, timezone], str]

    def __repr__(self) -> str:
        return self.delta


def single(value: float) -> float:
    """The nearest number of single precision."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def integers(delta: str, hint: str, bits: int) -> Kind:
    limit = 1 << (bits - 1)
    near = [0, 1, -1, 5, limit - 1, -limit, *([1 << 53, (1 << 53) + 1] if bits == 64 else [])]
    values = st.one_of(st.integers(-8, 8), st.sampled_from(near), st.integers(-limit, limit - 1))
    plain = _plainly(str)
    return Kind(delta, hint, values, str, str, plain, plain, plain)


def decimals(precision: int, scale: int) -> Kind:
    limit = 10**precision - 1
    units = st.one_of(st.integers(-300, 300), st.integers(-limit, limit), st.just(limit))
    values = units.map(
        lambda unit: (
            Decimal(unit).scaleb(-scale, None)
            if precision <= 28
            else Decimal((int(unit < 0), tuple(map(int, str(abs(unit)))), -scale))
        )
    )
    name = f"decimal({precision},{scale})"
    stat = partial(_decimal_stat, scale)
    return Kind(name, "decimal", values, str, _sql_decimal, _plainly(str), stat, stat)


def _plainly(spell: Callable[[Any], str]) -> Callable[[Draw, Any, timezone], str]:
    return lambda draw, value, zone: spell(value)


def _sql_decimal(value: Decimal) -> str:
    return f"{value:f}BD"  # without the suffix some clients compare doubles


def _decimal_stat(scale: int, draw: Draw, value: Decimal, zone: timezone) -> str:
    """As a number with all digits (Spark), or divided as a double (delta-rs)."""
    if draw(st.booleans()):
        return str(value)
    unscaled = int(value.scaleb(scale)) if len(value.as_tuple().digits) <= 28 else _units(value)
    return repr(float(unscaled) / 10.0**scale)


def _units(value: Decimal) -> int:
    sign, digits, _ = value.as_tuple()
    return int("".join(map(str, digits))) * (-1 if sign else 1)


def _float_text(value: float) -> str:
    """As Java's `toString`, but for exponents."""
    if math.isnan(value):
        return "NaN"
    return repr(value) if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def _shortest_single(value: float) -> str:
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next(text for text in texts if single(float(text)) == value)


def _float_stat(spell: Callable[[float], str], draw: Draw, value: float, zone: timezone) -> str:
    if not math.isfinite(value):
        return json.dumps(_float_text(value))
    return spell(value)


def _single_stat(draw: Draw, value: float, zone: timezone) -> str:
    spell = draw(st.sampled_from([repr, _shortest_single]))
    return _float_stat(spell, draw, value, zone)


def _single_text(value: float) -> str:
    return _shortest_single(value) if math.isfinite(value) else _float_text(value)


def _sql_double(value: float) -> str:
    return f"{value!r}D" if math.isfinite(value) else f"CAST('{_float_text(value)}' AS DOUBLE)"


def _sql_float(value: float) -> str:
    return f"CAST({_single_text(value)} AS FLOAT)" if math.isfinite(value) else _sql_double(value)


_characters = st.one_of(
    st.sampled_from("ab?'`\x7f\x00\ufffd\ufffe\ue000\U0001f600\U0010ffff é"),
    st.characters(exclude_categories=["Cs"]),
)
_texts = st.one_of(
    st.text(_characters, max_size=4),
    st.tuples(
        st.sampled_from(["x" * 30, "x" * 31, "y" * 32, "\U0001f600" * 15 + "z"]),
        st.text(_characters, max_size=5),
    ).map("".join),
)


def _sql_string(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _least_string(draw: Draw, value: str, zone: timezone) -> str:
    limit = draw(st.sampled_from([32, 64]))
    return json.dumps(_utf16_prefix(value, limit))


def _most_string(draw: Draw, value: str, zone: timezone) -> str:
    """As older and newer versions of Delta cut it off, and not at all."""
    if len(value.encode("utf-16-le")) // 2 <= 32 or draw(st.booleans()):
        return json.dumps(value)
    tie_breaker = draw(st.sampled_from(["\ufffd", "\U0010ffff"]))
    prefix = _utf16_prefix(value, 32)
    if tie_breaker == "\U0010ffff":  # whole characters, and none that sorts behind the tie-breaker
        prefix = prefix.removesuffix("?") if value[: len(prefix)] != prefix else prefix
        while value[len(prefix) :].startswith(tie_breaker):
            prefix += tie_breaker
    return json.dumps(prefix + tie_breaker)


def _utf16_prefix(value: str, units: int) -> str:
    """So many UTF-16 units, half a character replaced as Java does when it encodes."""
    cut = value.encode("utf-16-le")[: units * 2]
    whole = cut.decode("utf-16-le", errors="ignore")
    return whole if len(whole.encode("utf-16-le")) == len(cut) else whole + "?"


def _iso(value: datetime, timespec: str = "microseconds") -> str:
    return value.isoformat(timespec=timespec).replace("+00:00", "Z")


def _floored(value: datetime) -> datetime:
    return value - timedelta(microseconds=value.microsecond % 1000)


def _instant_literal(value: datetime) -> str:
    """As Spark's client: microseconds divided by 1000, towards zero."""
    micros = (value - EPOCH) // MICROSECOND
    millis = abs(micros) // 1000 * (1 if micros >= 0 else -1)
    return _iso(EPOCH + timedelta(milliseconds=millis), "milliseconds")


def _instant_partition(draw: Draw, value: datetime, zone: timezone) -> str:
    if draw(st.booleans()):
        return _iso(value)
    return value.astimezone(zone).replace(tzinfo=None).isoformat(" ")


def _instant_stat(draw: Draw, value: datetime, zone: timezone) -> str:
    shown = value.astimezone(draw(st.sampled_from([UTC, zone])))
    return json.dumps(_iso(_floored(shown), draw(st.sampled_from(["milliseconds", "microseconds"]))))


def _wall_clock_stat(draw: Draw, value: datetime, zone: timezone) -> str:
    return json.dumps(_floored(value).isoformat(timespec="milliseconds"))


_moments = st.one_of(
    st.integers(-3000, 3000),
    st.integers(-2_000_000_000, 2_000_000_000),
    st.integers(-60 * 10**15, 250 * 10**15),
)
_instants = _moments.map(lambda micros: EPOCH + timedelta(microseconds=micros))
_doubles = st.one_of(
    st.sampled_from([0.0, -0.0, 0.1, 1.5, 1e300, 2.0**53]), st.integers(-4, 4).map(float), st.floats()
)
_singles = st.one_of(st.sampled_from([0.0, 0.5, 1.5]), st.just(single(0.1)), st.floats(width=32))

KINDS: Mapping[str, Kind] = {
    kind.delta: kind
    for kind in (
        Kind(
            "boolean",
            "bool",
            st.booleans(),
            *(lambda value: str(value).lower(),) * 2,
            *(_plainly(lambda value: str(value).lower()),) * 3,
        ),
        integers("byte", "byte", 8),
        integers("short", "short", 16),
        integers("integer", "int", 32),
        integers("long", "long", 64),
        decimals(9, 2),
        decimals(18, 4),
        decimals(38, 10),
        Kind(
            "float",
            "float",
            _singles,
            _single_text,
            _sql_float,
            _plainly(_single_text),
            _single_stat,
            _single_stat,
        ),
        Kind(
            "double",
            "double",
            _doubles,
            _float_text,
            _sql_double,
            _plainly(_float_text),
            partial(_float_stat, repr),
            partial(_float_stat, repr),
        ),
        Kind("string", "string", _texts, str, _sql_string, _plainly(str), _least_string, _most_string),
        Kind(
            "date",
            "date",
            st.dates(date(2, 1, 1), date(9998, 12, 31)),
            date.isoformat,
            lambda value: f"DATE '{value}'",
            _plainly(date.isoformat),
            *(_plainly(lambda value: json.dumps(value.isoformat())),) * 2,
        ),
        Kind(
            "timestamp",
            "timestamp",
            _instants,
            _instant_literal,
            lambda value: f"TIMESTAMP '{_iso(value)}'",
            _instant_partition,
            _instant_stat,
            _instant_stat,
        ),
        Kind(
            "timestamp_ntz",
            "timestamp_ntz",
            _instants.map(lambda value: value.replace(tzinfo=None)),
            datetime.isoformat,
            lambda value: f"TIMESTAMP_NTZ '{value.isoformat(' ')}'",
            _plainly(lambda value: value.isoformat(" ")),
            _wall_clock_stat,
            _wall_clock_stat,
        ),
    )
}
