"""Writes conditions of a payload as new SQL; the payload's own text never reaches Spark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import BeforeValidator

from sluicegate.api import InvalidRequest, conditions
from sluicegate_spark.maintenance.sql import identifier, literal

_NUMBER: Final = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)(E[+-]?[0-9]+)?", re.IGNORECASE)
_TYPED: Final = {"date": "DATE", "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP_NTZ"}
_CASTS: Final = {
    **_TYPED,
    "bool": "BOOLEAN",
    "byte": "TINYINT",
    "short": "SMALLINT",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
}


def _parsed(text: object) -> object:
    if not isinstance(text, str):
        return text
    try:
        return conditions.parse_condition(text)
    except InvalidRequest as wrong:
        raise ValueError(wrong.message) from None


Where = Annotated[conditions.Expression, BeforeValidator(_parsed)]
"""A condition, in the grammar of `sluicegate.api.conditions`."""


def condition_sql(expression: conditions.Expression) -> str:
    """Return a condition as Spark SQL, for sessions with `sql.SETTINGS`.

    `conditions.parse_condition` parses the result to the same tree. Names are quoted, strings are
    escaped.
    """
    match expression:
        case conditions.Constant():
            return _constant(expression)
        case conditions.IsNull(column):
            return f"{_column(column)} IS NULL"
        case conditions.Comparison(operator, column, literals):
            return _comparison(operator.value, _column(column), literals)
        case conditions.Not(child):
            return f"NOT ({condition_sql(child)})"
        case conditions.And(children):
            return " AND ".join(f"({condition_sql(child)})" for child in children)
        case conditions.Or(children):
            return " OR ".join(f"({condition_sql(child)})" for child in children)


def _constant(constant: conditions.Constant) -> str:
    known = {conditions.TRUE: "TRUE", conditions.FALSE: "FALSE", conditions.NULL: "NULL"}
    if constant not in known:
        raise ValueError("a part of the condition is not supported")
    return known[constant]


def _comparison(operator: str, column: str, literals: Sequence[conditions.Literal]) -> str:
    constants = [_literal(each) for each in literals]
    if len(constants) > 1 and len({each.type for each in literals}) == 1:
        return f"{column} IN ({', '.join(constants)})"
    # Spark casts the members of a list to one type.
    return " OR ".join(f"{column} {operator} {constant}" for constant in constants)


def _column(column: conditions.Column) -> str:
    name = identifier(*column.path)
    return name if column.cast is None else f"CAST({name} AS {_CASTS[column.cast]})"


def _literal(constant: conditions.Literal) -> str:
    text, kind = constant.text, constant.type
    match kind:
        case "quoted":
            return literal(text)
        case "number" | "decimal" if _NUMBER.fullmatch(text):
            return text if kind == "number" else f"{text}BD"
        case "bool" if text.upper() in ("TRUE", "FALSE"):
            return text
    if kind in _TYPED:
        return f"{_TYPED[kind]} {literal(text)}"
    if kind in _CASTS:
        return f"CAST({literal(text)} AS {_CASTS[kind]})"
    raise ValueError(f"constants cannot be of type '{kind}'")
