"""Predicates as trees, whichever way they were written.

A tree says what a client asked, not yet of which table: columns have the names that the client used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

MAX_DEPTH = 100


class Operator(Enum):
    """How a column is compared with literals; `EQUAL` to any of them."""

    EQUAL = "="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="

    @property
    def flipped(self) -> Operator:
        """The operator that says the same with its sides exchanged."""
        return _FLIPPED.get(self, self)


_FLIPPED = {
    Operator.LESS: Operator.GREATER,
    Operator.LESS_OR_EQUAL: Operator.GREATER_OR_EQUAL,
    Operator.GREATER: Operator.LESS,
    Operator.GREATER_OR_EQUAL: Operator.LESS_OR_EQUAL,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column by the client's name for it.

    Attributes:
        path: The names from the top of the schema down to the column.
        cast: The type that its values are cast to, or `None` for their own.
    """

    path: tuple[str, ...]
    cast: str | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant as text.

    Attributes:
        type: A value type of the protocol; `quoted` and `number` where SQL leaves the type open.
    """

    text: str
    type: str | None


@dataclass(frozen=True, slots=True)
class Constant:
    """A truth value known without looking at any file: what it can be, for some row."""

    can_be_true: bool
    can_be_false: bool


UNKNOWN = Constant(can_be_true=True, can_be_false=True)
TRUE = Constant(can_be_true=True, can_be_false=False)
FALSE = Constant(can_be_true=False, can_be_false=True)
NULL = Constant(can_be_true=False, can_be_false=False)


@dataclass(frozen=True, slots=True)
class IsNull:
    """A column's value is null."""

    column: Column


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column compared with a literal, or for `EQUAL` with any of several."""

    operator: Operator
    column: Column
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite; null stays null."""

    child: Expression


@dataclass(frozen=True, slots=True)
class And:
    """All hold."""

    children: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One holds."""

    children: tuple[Expression, ...]


Expression: TypeAlias = Constant | IsNull | Comparison | Not | And | Or


def any_of(children: Iterable[Expression]) -> Expression:
    """An `Or` in which equalities of one column are one comparison with many literals."""
    literals: dict[Column, dict[Literal, None]] = {}
    others: list[Expression] = []
    for child in children:
        if isinstance(child, Comparison) and child.operator is Operator.EQUAL:
            literals.setdefault(child.column, {}).update(dict.fromkeys(child.literals))
        else:
            others.append(child)
    equalities = [
        Comparison(Operator.EQUAL, column, tuple(values)) for column, values in literals.items()
    ]
    return _joined(Or, (*equalities, *others))


def all_of(children: Iterable[Expression]) -> Expression:
    """An `And`, or the child itself where there is only one."""
    return _joined(And, tuple(children))


def compared(operator: Operator, left: Column | Literal, right: Column | Literal) -> Expression:
    """A comparison with the column on its left; of two columns or two literals nothing is known."""
    if isinstance(left, Column) and isinstance(right, Literal):
        return Comparison(operator, left, (right,))
    if isinstance(left, Literal) and isinstance(right, Column):
        return Comparison(operator.flipped, right, (left,))
    return UNKNOWN


def _joined(kind: type[And | Or], children: tuple[Expression, ...]) -> Expression:
    return children[0] if len(children) == 1 else kind(children)


def columns_of(expression: Expression) -> tuple[Column, ...]:
    """The columns of a tree, one for each test."""
    match expression:
        case Constant():
            return ()
        case IsNull(column) | Comparison(_, column, _):
            return (column,)
        case Not(child):
            return columns_of(child)
        case And(children) | Or(children):
            return tuple(column for child in children for column in columns_of(child))
