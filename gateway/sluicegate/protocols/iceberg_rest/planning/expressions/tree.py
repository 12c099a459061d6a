"""Filter expressions as trees, not bound to a table.

Source: Iceberg expressions specification, "Predicates" and "Appendix B: JSON serialization".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Json: TypeAlias = bool | int | float | str
"""A literal as JSON has it: how it is meant depends on the type of its column."""


class Op(Enum):
    """The test of one column, by its name in JSON."""

    IS_NULL = "is-null"
    NOT_NULL = "not-null"
    IS_NAN = "is-nan"
    NOT_NAN = "not-nan"
    LESS = "lt"
    LESS_OR_EQUAL = "lt-eq"
    GREATER = "gt"
    GREATER_OR_EQUAL = "gt-eq"
    EQUAL = "eq"
    NOT_EQUAL = "not-eq"
    STARTS_WITH = "starts-with"
    NOT_STARTS_WITH = "not-starts-with"
    IN = "in"
    NOT_IN = "not-in"

    @property
    def negated(self) -> Op:
        """The test that is true exactly if this one is false. Both are null for the same values."""
        return _NEGATED[self]


_PAIRS = (
    (Op.IS_NULL, Op.NOT_NULL),
    (Op.IS_NAN, Op.NOT_NAN),
    (Op.LESS, Op.GREATER_OR_EQUAL),
    (Op.GREATER, Op.LESS_OR_EQUAL),
    (Op.EQUAL, Op.NOT_EQUAL),
    (Op.STARTS_WITH, Op.NOT_STARTS_WITH),
    (Op.IN, Op.NOT_IN),
)
_NEGATED = {a: b for one, other in _PAIRS for a, b in ((one, other), (other, one))}
UNARY = frozenset((Op.IS_NULL, Op.NOT_NULL, Op.IS_NAN, Op.NOT_NAN))
SETS = frozenset((Op.IN, Op.NOT_IN))


@dataclass(frozen=True, slots=True)
class Term:
    """What a test compares: a column, or a transform of it.

    Attributes:
        name: The full name of a column.
        transform: A transform such as `bucket[16]`, or `None` for the column itself.
    """

    name: str
    transform: str | None = None


@dataclass(frozen=True, slots=True)
class TermTest:
    """The test of a term against no literal, one literal, or for sets any number of them."""

    op: Op
    term: Term
    literals: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class AllOf:
    """True if all children are true."""

    children: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True if at least one child is true."""

    children: tuple[Expression, ...]


Expression: TypeAlias = bool | TermTest | AllOf | AnyOf
"""A filter. It has no negations, because the parser moves them into the tests."""


def column_tests(expression: Expression) -> Iterator[TermTest]:
    """All tests of a tree, from left to right."""
    match expression:
        case TermTest():
            yield expression
        case AllOf(children) | AnyOf(children):
            for child in children:
                yield from column_tests(child)


def all_of(children: list[Expression]) -> Expression:
    """The conjunction, simplified."""
    return _joined(AllOf, children, neutral=True)


def any_of(children: list[Expression]) -> Expression:
    """The disjunction, simplified."""
    return _joined(AnyOf, children, neutral=False)


def _joined(kind: type[AllOf | AnyOf], children: list[Expression], *, neutral: bool) -> Expression:
    if any(child is (not neutral) for child in children):
        return not neutral
    left = tuple(child for child in children if child is not neutral)
    if len(left) > 1:
        return kind(left)
    return left[0] if left else neutral
