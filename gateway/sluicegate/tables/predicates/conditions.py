"""Resolves predicates for one table: names to columns, literals to the domains of their columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import and_, or_

from sluicegate.api.conditions.expressions import (
    UNKNOWN,
    And,
    Column,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
)
from sluicegate.tables.predicates.bounds import Bounds
from sluicegate.tables.predicates.columns import ColumnType, Family, TableColumn, find_column
from sluicegate.tables.predicates.moments import (
    ANY_ZONE,
    DAY,
    FOUR_DIGIT_YEARS,
    before_it_was_cut,
    days,
    instant,
    wall_clock,
)
from sluicegate.tables.predicates.truth import (
    SEARCHED_LITERALS,
    Evidence,
    Truth,
    compare,
    is_null,
    outside,
)
from sluicegate.tables.predicates.values import (
    DECIMALS,
    INT64,
    Span,
    number,
    statistics_span,
    units,
    with_single_precision,
    within,
)
from sluicegate.tables.snapshot import TableMetadata

_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64, "integer": 32}
# Decimal numbers of this many digits stay distinct when they are rounded to a floating-point number,
# and rounding changes longer ones by less than this many of their bits.
_SHORT_DIGITS = {"float": 6}
_ROUNDED_BITS = {"float": 22}


def literal_span(column: ColumnType, compared_as: str, text: str) -> Span | None:
    """The range of a literal in a column's domain.

    Returns:
        `None` if the comparison is not understood, so that its result is unknown.
    """
    if compared_as.startswith("decimal") and column.family is Family.DECIMAL:
        compared_as = "decimal" if compared_as in _spellings(column) else "rounded"
    read = _READERS[column.family].get(compared_as.partition("(")[0])
    return None if read is None else read(column, compared_as, text)


def orderly_values(column: ColumnType, compared_as: str) -> range | None:
    """The values of a column that keep their order when they are cast. `None` if all do.

    Spark's `CAST(long AS INT)` drops the upper bits of larger values. Dates sort as their texts only
    while years have four digits.
    """
    if column.family is Family.DATE and compared_as == "string":
        return FOUR_DIGIT_YEARS
    wanted, own = _BITS.get(compared_as), _BITS.get(column.name)
    if wanted is None or own is None or wanted >= own:
        return None
    return range(-(1 << (wanted - 1)), 1 << (wanted - 1))


def keeps_null(column: ColumnType, compared_as: str | None) -> bool:
    """Whether non-null values stay non-null when they are cast."""
    if compared_as is None:
        return True
    numeric = (Family.INTEGER, Family.FLOAT, Family.DECIMAL)
    if column.family in numeric and compared_as in ("float", "double"):
        return True
    if column.family is Family.INTEGER and compared_as in _BITS:
        return True
    return compared_as in ("bool" if column.family is Family.BOOLEAN else "", *_spellings(column))


def _spellings(column: ColumnType) -> tuple[str, str]:
    """A type's name, and the name without precision and scale."""
    return column.name, column.name.partition("(")[0]


def _boolean(_: ColumnType, __: str, text: str) -> Span | None:
    return {"true": (1, 1), "false": (0, 0)}.get(text.lower())


def _integer(_: ColumnType, __: str, text: str) -> Span | None:
    try:
        value = int(text)
    except ValueError:
        return None
    return within(INT64, (value, value))


def _number(column: ColumnType, compared_as: str, text: str) -> Span | None:
    """A number as integer or decimal, or the range between two of them if it is neither."""
    value = number(text)
    if value is None:
        return None
    low, high = units(value, column.scale)
    exact = compared_as.startswith("decimal") or (
        compared_as in ("number", "quoted") and text.lstrip("+-").isdigit()
    )
    digits = _SHORT_DIGITS.get(compared_as, 15)
    size = max(abs(low), abs(high))
    if not exact and (size >= 10**digits or len(value.as_tuple().digits) > digits):
        error = (size >> _ROUNDED_BITS.get(compared_as, 50)) + 1
        low, high = low - error, high + error
    return within(DECIMALS if column.family is Family.DECIMAL else INT64, (low, high))


def _double(column: ColumnType, compared_as: str, text: str) -> Span | None:
    """A number as double. A `float` is compared as double or as float, depending on the client."""
    try:
        value = float(text)
    except ValueError:
        return None
    if math.isnan(value):
        return None
    single = column.was_float or compared_as == "float"
    return with_single_precision(value) if single else (value, value)


def _exact(column: ColumnType, _: str, text: str) -> Span | None:
    return statistics_span(column, text)


def _date_text(_: ColumnType, __: str, text: str) -> Span | None:
    """A date that is compared as text, and must therefore have the format of dates."""
    day = days(text)
    return (day, day) if day is not None and text[4] == text[7] == "-" else None


def _day_as_instant(_: ColumnType, __: str, text: str) -> Span | None:
    """A day as timestamps: from its start in the first time zone to its end in the last one."""
    day = days(text)
    return None if day is None else (day * DAY - ANY_ZONE, (day + 1) * DAY + ANY_ZONE)


def _day_of_wall_clock(_: ColumnType, __: str, text: str) -> Span | None:
    day = days(text)
    return None if day is None else (day * DAY, (day + 1) * DAY)


def _instant(_: ColumnType, compared_as: str, text: str) -> Span | None:
    return _as_meant(instant(text), compared_as)


def _wall_clock(_: ColumnType, compared_as: str, text: str) -> Span | None:
    if compared_as.startswith("timestamp_ntz") or compared_as == "quoted":
        return _as_meant(wall_clock(text), compared_as)
    return _widened(_as_meant(instant(text), compared_as), ANY_ZONE)


def _instant_as_days(_: ColumnType, compared_as: str, text: str) -> Span | None:
    """A timestamp as days, each of which starts at midnight in some time zone."""
    span = _widened(_as_meant(instant(text), compared_as), ANY_ZONE)
    return None if span is None else (span[0] // DAY, -(-span[1] // DAY))


def _as_meant(span: Span | None, compared_as: str) -> Span | None:
    return before_it_was_cut(span) if compared_as.endswith("(3)") else span


def _widened(span: Span | None, margin: int) -> Span | None:
    return None if span is None else (span[0] - margin, span[1] + margin)


_Reader = Callable[[ColumnType, str, str], Span | None]
_APPROXIMATE = dict.fromkeys(("float", "double", "number"), _number)
_READERS: Mapping[Family, Mapping[str, _Reader]] = {
    Family.BOOLEAN: {"bool": _boolean, "quoted": _boolean},
    Family.INTEGER: _APPROXIMATE
    | {"decimal": _number}
    | dict.fromkeys(("byte", "short", "int", "long", "quoted"), _integer),
    Family.FLOAT: dict.fromkeys(("float", "double", "number", "quoted"), _double),
    Family.DECIMAL: _APPROXIMATE | {"decimal": _number, "quoted": _number},
    Family.STRING: {"string": _exact, "quoted": _exact},
    Family.DATE: {
        "date": _exact,
        "quoted": _exact,
        "string": _date_text,
        "timestamp": _instant_as_days,
    },
    Family.TIMESTAMP: {
        "timestamp": _instant,
        "timestamp_ntz": _instant,
        "quoted": _instant,
        "date": _day_as_instant,
    },
    Family.TIMESTAMP_NTZ: {
        "timestamp": _wall_clock,
        "timestamp_ntz": _wall_clock,
        "quoted": _wall_clock,
        "date": _day_of_wall_clock,
    },
    Family.OTHER: {},
}


_INTEGERS = {"byte", "short", "int", "long"}


@dataclass(frozen=True, slots=True)
class Condition:
    """A resolved term of a predicate, ready to be evaluated for files.

    Attributes:
        columns: The columns that the evidence must cover.
    """

    ask: Callable[[Evidence], Truth]
    columns: frozenset[TableColumn] = frozenset()
    comparisons: int = 0

    @property
    def needs_statistics(self) -> bool:
        """Whether it needs more than partition values."""
        return not all(column.is_partition for column in self.columns)


def condition(expression: Expression, metadata: TableMetadata) -> Condition:
    """Resolve a term against a table. If it does not match the table, its truth value is unknown."""
    match expression:
        case Constant():
            return Condition(lambda _: Truth.of(expression))
        case Not(child):
            inner = condition(child, metadata)
            return Condition(lambda files: ~inner.ask(files), inner.columns, inner.comparisons)
        case And(children):
            return _junction(and_, [condition(child, metadata) for child in children])
        case Or(children):
            return _junction(or_, [condition(child, metadata) for child in children])
        case IsNull(column):
            return _null_test(column, metadata)
        case Comparison():
            return _comparison(expression, metadata)


def _junction(join: Callable[[Truth, Truth], Truth], children: list[Condition]) -> Condition:
    return Condition(
        lambda files: reduce(join, (child.ask(files) for child in children)),
        frozenset().union(*(child.columns for child in children)),
        sum(child.comparisons for child in children),
    )


def _null_test(named: Column, metadata: TableMetadata) -> Condition:
    column = find_column(metadata, named.path)
    if column is None or not keeps_null(column.type, named.cast):
        return condition(UNKNOWN, metadata)
    return _test(column, is_null)


def _comparison(comparison: Comparison, metadata: TableMetadata) -> Condition:
    column = find_column(metadata, comparison.column.path)
    if column is None:
        return condition(UNKNOWN, metadata)
    cast, spans = comparison.column.cast, []
    for literal in comparison.literals:
        span = _span(column, cast, literal)
        if span is None:
            return condition(UNKNOWN, metadata)
        spans.append(span)
    orderly = None if cast is None else orderly_values(column.type, cast)
    return _test(
        column,
        partial(_compare, comparison.operator, tuple(spans), orderly),
        1 if column.is_partition else min(len(spans), SEARCHED_LITERALS),
    )


def _test(column: TableColumn, test: Callable[[Bounds], Truth], comparisons: int = 1) -> Condition:
    return Condition(lambda files: files.truth(column, test), frozenset((column,)), comparisons)


def _compare(
    operator: Operator, spans: tuple[Span, ...], orderly: range | None, bounds: Bounds
) -> Truth:
    truth = compare(operator, bounds, spans)
    return truth if orderly is None else truth.unless(outside(bounds, orderly))


def _span(column: TableColumn, cast: str | None, literal: Literal) -> Span | None:
    compared_as = _common_type(cast, literal.type)
    return None if compared_as is None else literal_span(column.type, compared_as, literal.text)


def _common_type(cast: str | None, literal: str | None) -> str | None:
    """The type that column and literal are compared as. `None` if they have none in common."""
    if cast is None or literal is None:
        return cast or literal
    if literal == "number":
        return cast if cast != "string" else None
    if literal == f"{cast}(3)":
        return literal  # a timestamp that might have been truncated to milliseconds
    same = literal in ("quoted", cast) or {cast, literal} <= _INTEGERS
    return cast if same or (cast.startswith("decimal") and literal.startswith("decimal")) else None
