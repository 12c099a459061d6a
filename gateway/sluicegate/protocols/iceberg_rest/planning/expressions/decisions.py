"""Decides the tests of partition columns, once for each distinct partition.

Comparisons with null are not true, as in SQL. Expressions have no negations, so that a null result has
the same effect as a false one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sluicegate.api.errors import InvalidRequest
from sluicegate.protocols.iceberg_rest.planning.expressions.columns import Columns
from sluicegate.protocols.iceberg_rest.planning.expressions.transforms import transform_of
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import (
    SETS,
    UNARY,
    AllOf,
    AnyOf,
    Expression,
    Json,
    Op,
    TermTest,
    all_of,
    any_of,
    column_tests,
)
from sluicegate.protocols.iceberg_rest.planning.expressions.values import kind_of

# Expressions of all different residuals. About two seconds of work, and at most 100 MB of memory.
MAX_SIMPLIFIED = 2_000_000
_TRANSFORM_WORK = 4  # hashing a short value is about four comparisons
_COMPARISONS: Mapping[Op, Callable[[Any, Any], bool]] = {
    Op.LESS: operator.lt,
    Op.LESS_OR_EQUAL: operator.le,
    Op.GREATER: operator.gt,
    Op.GREATER_OR_EQUAL: operator.ge,
    Op.EQUAL: operator.eq,
    Op.NOT_EQUAL: operator.ne,
}
_TEXTS = (Op.STARTS_WITH, Op.NOT_STARTS_WITH)


@dataclass(frozen=True, slots=True)
class _Decided:
    """A test of a partition column: its place, whether it is true for a value, and what that costs."""

    place: int
    holds: Callable[[Any], bool]
    work: int


@dataclass(frozen=True, slots=True)
class _All:
    children: tuple[_Bound, ...]


@dataclass(frozen=True, slots=True)
class _Any:
    children: tuple[_Bound, ...]


_Bound: TypeAlias = bool | TermTest | _Decided | _All | _Any


class Decisions:
    """A filter whose tests of partition columns are ready to be decided."""

    def __init__(self, expression: Expression, columns: Columns) -> None:
        self._decided: list[_Decided] = []
        self._columns = columns
        self._size = 0
        self._bound = self._bind(expression)
        self._known: dict[tuple[bool, ...], Expression] = {}
        self.places = sorted({test.place for test in self._decided})
        self.tests = len(self._decided)
        self.work = sum(test.work for test in self._decided)

    def residual(self, values: Mapping[int, Any]) -> Expression:
        """What is left of the filter in a partition. `False` if it is true for no row there."""
        decided = tuple(test.holds(values[test.place]) for test in self._decided)
        if decided not in self._known:
            if self._size * (len(self._known) + 1) > MAX_SIMPLIFIED:
                raise InvalidRequest(
                    f"filter has {self._size} expressions, and too many different parts of it are left "
                    "in the table's partitions: use 'in' for many values, or read fewer partitions"
                )
            results = dict(zip(map(id, self._decided), decided, strict=True))
            self._known[decided] = _simplified(self._bound, results)
        return self._known[decided]

    def _bind(self, expression: Expression) -> _Bound:
        self._size += 1
        match expression:
            case bool():
                return expression
            case AllOf(children):
                return _All(tuple(map(self._bind, children)))
            case AnyOf(children):
                return _Any(tuple(map(self._bind, children)))
            case TermTest():
                return self._bind_test(expression)

    def _bind_test(self, test: TermTest) -> _Bound:
        column = self._columns.find(test.term.name, "filter")
        if column.place is None or column.primitive is None:
            return test
        holds = _transformed(test, column.primitive)
        if holds is None:
            return test
        work = 1 if test.term.transform is None else _TRANSFORM_WORK
        decided = _Decided(column.place, holds, work)
        self._decided.append(decided)
        return decided


def compared_literals(expression: Expression, columns: Columns) -> dict[int, list[Json]]:
    """The literals that a filter compares with partition columns, by the places of these."""
    found: dict[int, list[Json]] = {}
    for test in column_tests(expression):
        place = columns.find(test.term.name, "filter").place
        if place is not None and test.literals and test.term.transform is None:
            found.setdefault(place, []).extend(test.literals)
    return found


def _transformed(test: TermTest, primitive: str) -> Callable[[Any], bool] | None:
    """Whether a test is true for a value. `None` if it cannot be decided."""
    if test.term.transform is None:
        kind = kind_of(primitive)
        return None if kind is None else _holds(test, primitive, kind.of_literal)
    found = transform_of(test.term.transform, primitive)
    kind = None if found is None else kind_of(found[1])
    if found is None or kind is None:
        return None
    function, result = found
    holds = _holds(test, result, kind.of_literal)
    return lambda value: holds(None if value is None else function(value))


def _holds(test: TermTest, primitive: str, of_literal: Callable[[Any], Any]) -> Callable[[Any], bool]:
    if test.op in UNARY:
        return _UNARY[test.op]
    try:
        literals = [of_literal(literal) for literal in test.literals]
    except ValueError as error:
        raise InvalidRequest(
            f"filter compares {test.term.name!r} with a literal that is {error}: its type is "
            f"{primitive}"
        ) from None
    if test.op in SETS:
        return _in_set(frozenset(literals), inside=test.op is Op.IN)
    if test.op in _TEXTS:
        return _with_prefix(test, primitive, literals[0])
    compare, (literal,) = _COMPARISONS[test.op], literals
    return lambda value: value is not None and compare(value, literal)


def _in_set(members: frozenset[Any], *, inside: bool) -> Callable[[Any], bool]:
    return lambda value: value is not None and (value in members) is inside


def _with_prefix(test: TermTest, primitive: str, prefix: Any) -> Callable[[Any], bool]:
    if not isinstance(prefix, str | bytes):
        raise InvalidRequest(
            f"filter has '{test.op.value}' of {test.term.name!r}, whose type is {primitive}"
        )
    wanted = test.op is Op.STARTS_WITH
    return lambda value: value is not None and value.startswith(prefix) is wanted


_UNARY: Mapping[Op, Callable[[Any], bool]] = {
    Op.IS_NULL: lambda value: value is None,
    Op.NOT_NULL: lambda value: value is not None,
    # Partition values are never NaN: JSON has no such number, so that no plan could name them.
    Op.IS_NAN: lambda value: False,
    Op.NOT_NAN: lambda value: True,
}


def _simplified(bound: _Bound, results: Mapping[int, bool]) -> Expression:
    match bound:
        case _Decided():
            return results[id(bound)]
        case _All(children):
            return all_of(_each(children, results))
        case _Any(children):
            return any_of(_each(children, results))
        case _:
            return bound


def _each(children: Sequence[_Bound], results: Mapping[int, bool]) -> list[Expression]:
    return [_simplified(child, results) for child in children]
