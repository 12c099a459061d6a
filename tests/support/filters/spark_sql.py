"""Filters as conditions of Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from support.filters.kinds import FilterKind
from support.filters.tree import Filter, Junction, Not, Op, Test

_TYPES: Mapping[str, str] = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
}


def condition(tree: Filter) -> str:
    """A filter as a condition."""
    match tree:
        case Test():
            return _test(tree)
        case Not(child):
            return f"NOT ({condition(child)})"
        case Junction(any_of, children):
            return (" OR " if any_of else " AND ").join(f"({condition(child)})" for child in children)


def _test(test: Test) -> str:
    name = "`" + test.column.name.replace("`", "``") + "`"
    literals = [_literal(value, test.column.kind) for value in test.literals]
    match test.op:
        case Op.IS_NULL | Op.NOT_NULL:
            return f"{name} {test.op.value.upper()}"
        case Op.IS_NAN | Op.NOT_NAN:  # equal to itself in Spark, and sent as these tests
            operator = "=" if test.op is Op.IS_NAN else "!="
            return f"{name} {operator} CAST('NaN' AS {test.column.kind.delta.upper()})"
        case Op.IN | Op.NOT_IN:
            return f"{name} {test.op.value.upper()} ({', '.join(literals)})"
        case Op.STARTS_WITH:
            return f"startswith({name}, {literals[0]})"
        case Op.NOT_STARTS_WITH:
            return f"NOT startswith({name}, {literals[0]})"
    return f"{name} {test.op.value} {literals[0]}"


def _literal(value: Any, kind: FilterKind) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    text = value.isoformat() if isinstance(value, date) else str(value)
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST('{text}' AS {_TYPES.get(kind.delta, kind.delta.upper())})"
