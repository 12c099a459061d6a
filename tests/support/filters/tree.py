"""Filters as trees of tests of columns, independent of a protocol or engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from support.filters.kinds import FilterKind


class Op(Enum):
    """A test of a column."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    IN = "in"
    NOT_IN = "not in"
    IS_NULL = "is null"
    NOT_NULL = "is not null"
    IS_NAN = "is nan"
    NOT_NAN = "is not nan"
    STARTS_WITH = "starts with"
    NOT_STARTS_WITH = "does not start with"

    @property
    def negated(self) -> Op:
        """The test that is true where this one is false."""
        return _NEGATED[self]


_PAIRS = (
    (Op.EQUAL, Op.NOT_EQUAL),
    (Op.LESS, Op.GREATER_OR_EQUAL),
    (Op.GREATER, Op.LESS_OR_EQUAL),
    (Op.IN, Op.NOT_IN),
    (Op.IS_NULL, Op.NOT_NULL),
    (Op.IS_NAN, Op.NOT_NAN),
    (Op.STARTS_WITH, Op.NOT_STARTS_WITH),
)
ORDERS = (Op.LESS, Op.LESS_OR_EQUAL, Op.GREATER, Op.GREATER_OR_EQUAL)
_NEGATED = {a: b for one, other in _PAIRS for a, b in ((one, other), (other, one))}
# Clients disagree about these for null: for some of them, null is not in a set and does not start with
# a text, and a partition of null differs from every value.
_DISPUTED = (Op.NOT_EQUAL, Op.NOT_IN, Op.NOT_STARTS_WITH, Op.IS_NAN, Op.NOT_NAN)


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    kind: FilterKind
    is_partition: bool = False


@dataclass(frozen=True)
class Test:
    """A test of a column against no literal, one, or several."""

    __test__ = False  # not one of pytest's

    op: Op
    column: Column
    literals: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Not:
    """The opposite of a filter; null where that is null."""

    child: Filter


@dataclass(frozen=True)
class Junction:
    """A conjunction, or a disjunction."""

    any: bool
    children: Sequence[Filter]


Filter: TypeAlias = Test | Not | Junction


def positive(tree: Filter, *, negated: bool = False) -> Filter:
    """The same filter without `Not`, which ends up in the tests."""
    match tree:
        case Not(child):
            return positive(child, negated=not negated)
        case Junction(any_of, children):
            return Junction(
                any_of is not negated, [positive(each, negated=negated) for each in children]
            )
        case Test(op, column, literals):
            return Test(op.negated if negated else op, column, literals)


def undisputed(tree: Filter) -> Filter:
    """A filter that is true for the same rows, and whose meaning for null all clients agree about."""
    match tree:
        case Test(op, column) if op in _DISPUTED:
            return Junction(False, [Test(Op.NOT_NULL, column), tree])
        case Not(child) if any(_disputed(test) for test in leaves(child)):
            return undisputed(positive(tree))
        case Not(child):
            return Not(undisputed(child))
        case Junction(any_of, children):
            return Junction(any_of, [undisputed(child) for child in children])
    return tree


def _disputed(test: Test) -> bool:
    return test.op in _DISPUTED or test.op.negated in _DISPUTED


def leaves(tree: Filter) -> Iterator[Test]:
    """All tests of a filter."""
    match tree:
        case Test():
            yield tree
        case Not(child):
            yield from leaves(child)
        case Junction(_, children):
            for child in children:
                yield from leaves(child)


def shown(tree: Filter) -> str:
    """A filter as text, for messages."""
    match tree:
        case Test(op, column, literals):
            return " ".join([repr(column.name), op.value, *map(repr, literals)])
        case Not(child):
            return f"not ({shown(child)})"
        case Junction(any_of, children):
            return (" or " if any_of else " and ").join(f"({shown(child)})" for child in children)
