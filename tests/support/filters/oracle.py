"""What a filter is for a row, by three-valued logic."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import Any

from support.filters.kinds import is_nan
from support.filters.tree import Filter, Junction, Not, Op, Test, positive

Row = Mapping[str, Any]

_COMPARISONS: Mapping[Op, Callable[[Any, Any], bool]] = {
    Op.EQUAL: operator.eq,
    Op.NOT_EQUAL: operator.ne,
    Op.LESS: operator.lt,
    Op.LESS_OR_EQUAL: operator.le,
    Op.GREATER: operator.gt,
    Op.GREATER_OR_EQUAL: operator.ge,
}


def matching(rows: Iterable[Row], tree: Filter) -> list[Row]:
    """The rows for which a filter is true.

    NaN is neither smaller nor larger than a number, nor equal to it, as in Arrow. Because clients move
    `not` into the tests, neither `x < 1` nor its opposite is true for NaN.
    """
    plain = positive(tree)
    return [row for row in rows if truth(plain, row) is True]


def truth(tree: Filter, row: Row) -> bool | None:
    """Whether a filter is true for a row, or `None` for null."""
    match tree:
        case Test():
            return _test(tree, row[tree.column.name])
        case Not(child):
            inner = truth(child, row)
            return None if inner is None else not inner
        case Junction(any_of, children):
            found = [truth(child, row) for child in children]
            if any_of in found:
                return any_of
            return None if None in found else not any_of


def _test(test: Test, value: Any) -> bool | None:
    if test.op in (Op.IS_NULL, Op.NOT_NULL):
        return (value is None) is (test.op is Op.IS_NULL)
    if value is None:
        return None
    match test.op:
        case Op.IS_NAN | Op.NOT_NAN:
            return is_nan(value) is (test.op is Op.IS_NAN)
        case Op.IN | Op.NOT_IN:
            return (value in test.literals) is (test.op is Op.IN)
        case Op.STARTS_WITH | Op.NOT_STARTS_WITH:
            return bool(value.startswith(test.literals[0]) is (test.op is Op.STARTS_WITH))
    # Strings sort by code points, as their UTF-8 bytes do.
    return _COMPARISONS[test.op](value, test.literals[0])


def comparable(row: Row) -> tuple[tuple[str, str], ...]:
    """A row in a form in which NaN equals itself, 0.0 differs from -0.0, and instants are in UTC."""
    return tuple(sorted((name, repr(_plain(value))) for name, value in row.items()))


def _plain(value: Any) -> Any:
    match value:
        case datetime(tzinfo=tzinfo()):
            return value.astimezone(UTC)
        case Decimal() if not value:
            return abs(value)
    return value
