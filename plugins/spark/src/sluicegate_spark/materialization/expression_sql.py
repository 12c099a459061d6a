"""Writes expressions as new SQL for Spark; the text of the configuration never reaches Spark."""

from __future__ import annotations

from sluicegate_spark.copies.expressions import Call, Cast, Column, Constant, Node, Operation
from sluicegate_spark.maintenance.sql import identifier, literal


def expression_sql(node: Node) -> str:
    """Return an expression as Spark SQL, for sessions with `sql.SETTINGS`."""
    match node:
        case Column(path):
            return identifier(*path)
        case Constant(text, is_text):
            return literal(text) if is_text else text
        case Call(function, arguments):
            return f"{function}({', '.join(map(expression_sql, arguments))})"
        case Cast(operand, kind):
            return f"CAST({expression_sql(operand)} AS {kind})"
        case Operation(operator, left, right):
            return f"({expression_sql(left)} {operator} {expression_sql(right)})"
