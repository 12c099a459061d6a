"""SQL predicates (Delta Sharing protocol, "SQL Expressions for Filtering")."""

from __future__ import annotations

from sluicegate.api.conditions.expressions import Expression
from sluicegate.api.conditions.grammar import Parser
from sluicegate.api.conditions.tokens import NotUnderstood

MAX_CHARACTERS = 1 << 16


def parse_sql_hint(text: str) -> Expression | None:
    """The predicate of one of the `predicateHints`. `None` if it is not understood."""
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        return Parser(text).parse()
    except NotUnderstood:
        return None
