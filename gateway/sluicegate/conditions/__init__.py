"""Conditions on the rows of a table, as trees: the SQL that clients may write, and nothing else of SQL.

    condition = parse_condition("day >= DATE '2026-11-01' AND city IN ('Bern', 'Basel')")

A tree has columns, constants and comparisons of the two; it cannot name a function. Plugins import the
package from `sluicegate.api`.
"""

from __future__ import annotations

from sluicegate.conditions.expressions import (
    FALSE,
    NULL,
    TRUE,
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
    columns_of,
)
from sluicegate.conditions.strict import parse_condition

__all__ = [
    "FALSE",
    "NULL",
    "TRUE",
    "And",
    "Column",
    "Comparison",
    "Constant",
    "Expression",
    "IsNull",
    "Literal",
    "Not",
    "Operator",
    "Or",
    "columns_of",
    "parse_condition",
]
