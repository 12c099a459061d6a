"""Translates filters for the pruning by statistics. What it does not know stays unknown there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sluicegate.api.conditions import (
    And,
    Column,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
)
from sluicegate.api.conditions.expressions import UNKNOWN
from sluicegate.protocols.iceberg_rest.planning.expressions import tree
from sluicegate.protocols.iceberg_rest.planning.expressions.columns import Columns
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import Op, TermTest
from sluicegate.protocols.iceberg_rest.planning.expressions.values import (
    date_text,
    kind_of,
    timestamp_text,
)
from sluicegate.tables.predicates import Predicate

_ORDERS = {
    Op.LESS: Operator.LESS,
    Op.LESS_OR_EQUAL: Operator.LESS_OR_EQUAL,
    Op.GREATER: Operator.GREATER,
    Op.GREATER_OR_EQUAL: Operator.GREATER_OR_EQUAL,
}
_NEGATIONS = (Op.NOT_NULL, Op.NOT_EQUAL, Op.NOT_IN, Op.NOT_STARTS_WITH)
_SURROGATES = range(0xD800, 0xE000)
_LAST_CHARACTER = 0x10FFFF


def predicate_of(expression: tree.Expression, columns: Columns) -> Predicate | None:
    """The predicate by which files are pruned, or `None` if the filter leaves all of them.

    Raises:
        InvalidRequest: The filter names a column that the table does not have.
    """
    if isinstance(expression, bool):
        return None
    translated = _condition(expression, columns)
    terms = translated.children if isinstance(translated, And) else (translated,)
    known = tuple(term for term in terms if term != UNKNOWN)
    return Predicate(known) if known else None


def _condition(expression: tree.Expression, columns: Columns) -> Expression:
    match expression:
        case tree.AllOf(children):
            return And(tuple(_condition(child, columns) for child in children))
        case tree.AnyOf(children):
            return Or(tuple(_condition(child, columns) for child in children))
        case TermTest():
            condition = _test(expression, columns)
            negated = expression.op in _NEGATIONS and condition != UNKNOWN
            return Not(condition) if negated else condition
    return UNKNOWN


def _test(test: TermTest, columns: Columns) -> Expression:
    """The condition of a test; of its opposite for those in `_NEGATIONS`."""
    column = columns.find(test.term.name, "filter")
    if test.term.transform is not None or not column.in_structs:
        return UNKNOWN
    named = Column(tuple(field.name for field in column.fields))
    if test.op in (Op.IS_NULL, Op.NOT_NULL):
        return IsNull(named)
    if test.op in (Op.IS_NAN, Op.NOT_NAN) or column.primitive is None:
        return UNKNOWN
    try:
        literals = tuple(_literals(column.primitive, test.literals))
    except ValueError:
        return UNKNOWN
    if not literals:
        return UNKNOWN
    if test.op in (Op.STARTS_WITH, Op.NOT_STARTS_WITH):
        return _starts_with(named, literals[0])
    return Comparison(_ORDERS.get(test.op, Operator.EQUAL), named, literals)


def _starts_with(column: Column, prefix: Literal) -> Expression:
    if prefix.type != "string":
        return UNKNOWN
    at_least = Comparison(Operator.GREATER_OR_EQUAL, column, (prefix,))
    end = _after_all_with(prefix.text)
    if end is None:
        return at_least
    return And((at_least, Comparison(Operator.LESS, column, (Literal(end, "string"),))))


def _after_all_with(prefix: str) -> str | None:
    """The first string after all strings with a prefix. `None` if there is none."""
    stem = prefix.rstrip(chr(_LAST_CHARACTER))
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def _literals(primitive: str, values: tuple[tree.Json, ...]) -> Iterator[Literal]:
    kind = kind_of(primitive)
    write = _WRITERS.get(primitive.partition("(")[0])
    if kind is None or write is None:
        return
    for value in values:
        yield write(kind.of_literal(value))


def _number(value: Any) -> Literal:
    return Literal(str(value), "long" if isinstance(value, int) else "double")


_WRITERS: dict[str, Callable[[Any], Literal]] = {
    "boolean": lambda value: Literal(str(value).lower(), "bool"),
    "int": _number,
    "long": _number,
    "float": lambda value: Literal(repr(value), "float"),
    "double": lambda value: Literal(repr(value), "double"),
    "decimal": lambda value: Literal(format(value, "f"), "decimal"),
    "string": lambda value: Literal(value, "string"),
    "date": lambda value: Literal(date_text(value), "date"),
    "timestamp": lambda value: Literal(timestamp_text(value, zone=False), "timestamp_ntz"),
    "timestamptz": lambda value: Literal(timestamp_text(value, zone=True), "timestamp"),
}
