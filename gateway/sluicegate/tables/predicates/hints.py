"""Parses the predicate hints of a query request, in both formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluicegate.api.conditions.expressions import And, Expression
from sluicegate.tables.predicates.json_hints import parse_json_hint
from sluicegate.tables.predicates.sql_hints import parse_sql_hint

MAX_SQL_HINTS = 100


@dataclass(frozen=True, slots=True)
class Predicate:
    """Conditions that all requested rows satisfy. Conditions that were not understood are omitted."""

    terms: tuple[Expression, ...]


def from_hints(json_hint: str | None, sql_hints: Sequence[str]) -> Predicate | None:
    """Parse the hints of a query ("Query Table", `jsonPredicateHints` and `predicateHints`).

    Hints are only optimizations, so no hint from a client is an error.

    Args:
        json_hint: One tree. Ignored if longer than 1 MB or deeper than 100.
        sql_hints: Separate conditions, all of which apply.

    Returns:
        `None` if no hint was understood.
    """
    hints = [parse_sql_hint(text) for text in sql_hints[:MAX_SQL_HINTS]]
    if json_hint:
        hints.append(parse_json_hint(json_hint))
    terms = tuple(term for hint in hints if hint is not None for term in _conjuncts(hint))
    return Predicate(terms) if terms else None


def _conjuncts(expression: Expression) -> tuple[Expression, ...]:
    return expression.children if isinstance(expression, And) else (expression,)
