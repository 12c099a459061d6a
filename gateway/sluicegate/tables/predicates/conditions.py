"""Resolves predicates for one table: names to columns, literals to the domains of their columns."""

from __future__ import annotations

from collections.abc import Callable
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
from sluicegate.tables.predicates.columns import TableColumn, find_column
from sluicegate.tables.predicates.evidence import Evidence
from sluicegate.tables.predicates.literals import keeps_null, literal_span, orderly_values
from sluicegate.tables.predicates.truth import SEARCHED_LITERALS, Truth, compare, is_null, outside
from sluicegate.tables.predicates.values import Span
from sluicegate.tables.snapshot import TableMetadata

_INTEGERS = {"byte", "short", "int", "long"}


@dataclass(frozen=True, slots=True)
class Condition:
    """A resolved term of a predicate, ready to be evaluated for files.

    Attributes:
        ask: Returns the possible truth values of the term for each file of a chunk.
        columns: The columns that the evidence must cover.
        comparisons: Number of comparisons per file.
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
