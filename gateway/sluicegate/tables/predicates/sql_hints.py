"""SQL predicates (delta-sharing-protocol.md, "SQL Expressions for Filtering")."""

from __future__ import annotations

from sluicegate.conditions.expressions import Expression
from sluicegate.conditions.grammar import Parser
from sluicegate.conditions.tokens import NotUnderstood

MAX_CHARACTERS = 1 << 16


def parse_sql_hint(text: str) -> Expression | None:
    """The predicate of one of the `predicateHints`; `None` where it is not understood."""
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        return Parser(text).parse()
    except NotUnderstood:
        return None
