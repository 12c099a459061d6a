"""Predicates as trees, independent of their syntax.

A tree is not bound to a table yet: columns have the names that the client used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

MAX_DEPTH = 100


class Operator(Enum):
    """A comparison of a column with literals; with `EQUAL`, with any of them."""

    EQUAL = "="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="

    @property
    def flipped(self) -> Operator:
        """The equivalent operator for exchanged sides."""
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
        cast: The type that its values are cast to, or `None` if they are not cast.
    """

    path: tuple[str, ...]
    cast: str | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant as text.

    Attributes:
        type: A value type of the protocol, or `quoted` or `number` if the SQL does not determine it.
    """

    text: str
    type: str | None


@dataclass(frozen=True, slots=True)
class Constant:
    """A condition with the same possible truth values for every file: true or false for some row."""

    can_be_true: bool
    can_be_false: bool


UNKNOWN = Constant(can_be_true=True, can_be_false=True)
TRUE = Constant(can_be_true=True, can_be_false=False)
"""The condition holds for every row."""
FALSE = Constant(can_be_true=False, can_be_false=True)
"""The condition holds for no row."""
NULL = Constant(can_be_true=False, can_be_false=False)
"""The condition is null for every row, so that neither it nor its negation selects any row."""


@dataclass(frozen=True, slots=True)
class IsNull:
    """A column's value is null."""

    column: Column


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares a column with a literal, or for `EQUAL` with any of several literals."""

    operator: Operator
    column: Column
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Negates a condition. Null stays null."""

    child: Expression


@dataclass(frozen=True, slots=True)
class And:
    """True if all conditions are true."""

    children: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True if at least one condition is true."""

    children: tuple[Expression, ...]


Expression: TypeAlias = Constant | IsNull | Comparison | Not | And | Or
"""A condition: any node of a tree."""


def any_of(children: Iterable[Expression]) -> Expression:
    """Return an `Or` in which equalities of one column are merged into a single comparison."""
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
    """Return an `And`, or the child itself if there is only one."""
    return _joined(And, tuple(children))


def compared(operator: Operator, left: Column | Literal, right: Column | Literal) -> Expression:
    """Return a comparison with the column on its left. Other comparisons are `UNKNOWN`."""
    if isinstance(left, Column) and isinstance(right, Literal):
        return Comparison(operator, left, (right,))
    if isinstance(left, Literal) and isinstance(right, Column):
        return Comparison(operator.flipped, right, (left,))
    return UNKNOWN


def _joined(kind: type[And | Or], children: tuple[Expression, ...]) -> Expression:
    return children[0] if len(children) == 1 else kind(children)


def columns_of(expression: Expression) -> tuple[Column, ...]:
    """Return the columns of a tree, one for each test."""
    match expression:
        case Constant():
            return ()
        case IsNull(column) | Comparison(_, column, _):
            return (column,)
        case Not(child):
            return columns_of(child)
        case And(children) | Or(children):
            return tuple(column for child in children for column in columns_of(child))
