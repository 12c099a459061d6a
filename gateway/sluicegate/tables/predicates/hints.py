"""What a query request asks to filter by, in either spelling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluicegate.conditions.expressions import And, Expression
from sluicegate.tables.predicates.json_hints import parse_json_hint
from sluicegate.tables.predicates.sql_hints import parse_sql_hint

MAX_SQL_HINTS = 100


@dataclass(frozen=True, slots=True)
class Predicate:
    """Conditions that every row asked for fulfils; those that were not understood are left out."""

    terms: tuple[Expression, ...]


def from_hints(json_hint: str | None, sql_hints: Sequence[str]) -> Predicate | None:
    """Read the hints of a query ("Query Table", `jsonPredicateHints` and `predicateHints`).

    Hints only ever save work, so nothing that a client sends here is an error.

    Args:
        json_hint: One tree; ignored when longer than 1 MB or deeper than 100.
        sql_hints: Each stands for itself, all must hold.

    Returns:
        `None` where no hint was understood.
    """
    hints = [parse_sql_hint(text) for text in sql_hints[:MAX_SQL_HINTS]]
    if json_hint:
        hints.append(parse_json_hint(json_hint))
    terms = tuple(term for hint in hints if hint is not None for term in _conjuncts(hint))
    return Predicate(terms) if terms else None


def _conjuncts(expression: Expression) -> tuple[Expression, ...]:
    return expression.children if isinstance(expression, And) else (expression,)
