"""Conditions on the rows of a table, as trees. They support a small subset of SQL.

    condition = parse_condition("day >= DATE '2026-11-01' AND city IN ('Bern', 'Basel')")

A tree consists of columns, constants, and comparisons between them. It contains no functions. Plugins
import the package from `sluicegate.api`.
"""

from __future__ import annotations

from sluicegate.api.conditions.expressions import (
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
from sluicegate.api.conditions.strict import parse_condition

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
