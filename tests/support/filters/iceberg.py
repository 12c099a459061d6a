"""Filters as Iceberg's expression JSON, and as PyIceberg's expressions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import reduce
from typing import Any

from pyiceberg import expressions as py
from support.filters.tree import ORDERS, Filter, Junction, Not, Op, Test, leaves, positive

_TYPES: Mapping[Op, str] = {
    Op.EQUAL: "eq",
    Op.NOT_EQUAL: "not-eq",
    Op.LESS: "lt",
    Op.LESS_OR_EQUAL: "lt-eq",
    Op.GREATER: "gt",
    Op.GREATER_OR_EQUAL: "gt-eq",
    Op.IN: "in",
    Op.NOT_IN: "not-in",
    Op.IS_NULL: "is-null",
    Op.NOT_NULL: "not-null",
    Op.IS_NAN: "is-nan",
    Op.NOT_NAN: "not-nan",
    Op.STARTS_WITH: "starts-with",
    Op.NOT_STARTS_WITH: "not-starts-with",
}
_CLASSES: Mapping[Op, Any] = {
    Op.EQUAL: py.EqualTo,
    Op.NOT_EQUAL: py.NotEqualTo,
    Op.LESS: py.LessThan,
    Op.LESS_OR_EQUAL: py.LessThanOrEqual,
    Op.GREATER: py.GreaterThan,
    Op.GREATER_OR_EQUAL: py.GreaterThanOrEqual,
    Op.IN: py.In,
    Op.NOT_IN: py.NotIn,
    Op.IS_NULL: py.IsNull,
    Op.NOT_NULL: py.NotNull,
    Op.IS_NAN: py.IsNaN,
    Op.NOT_NAN: py.NotNaN,
    Op.STARTS_WITH: py.StartsWith,
    Op.NOT_STARTS_WITH: py.NotStartsWith,
}


def expression_json(tree: Filter) -> Any:
    """A filter as Java clients write it in a request for a plan."""
    match tree:
        case Test(op, column, literals):
            node: dict[str, Any] = {"type": _TYPES[op], "term": column.name}
            values = [_json_literal(literal) for literal in literals]
            if op in (Op.IN, Op.NOT_IN):
                return node | {"values": values}
            return node | ({"value": values[0]} if values else {})
        case Not(Test(Op.EQUAL) as child):  # Spark writes `not` of `eq` for `NOT (x <=> 1)`
            return expression_json(child) | {"type": _TYPES[Op.NOT_EQUAL]}
        case Not(child):
            return {"type": "not", "child": expression_json(child)}
        case Junction(any_of, children):
            kind = "or" if any_of else "and"
            return reduce(
                lambda left, right: {"type": kind, "left": left, "right": right},
                map(expression_json, children),
            )


def _json_literal(value: Any) -> Any:
    match value:
        case bytes():
            return value.hex().upper()
        case date():  # and datetimes
            return value.isoformat()
        case Decimal():
            return format(value, "f")
    return value


def pyiceberg_expression(tree: Filter) -> py.BooleanExpression:
    """A filter as users of PyIceberg write it."""
    found: py.BooleanExpression
    match tree:
        case Test(Op.IN | Op.NOT_IN as op, column, literals):
            found = _CLASSES[op](py.Reference(column.name), literals)
        case Test(op, column, literals):
            found = _CLASSES[op](py.Reference(column.name), *literals)
        case Not(child) if any(_not_as_planned(test) for test in leaves(child)):
            found = pyiceberg_expression(positive(tree))
        case Not(child):
            found = py.Not(pyiceberg_expression(child))
        case Junction(any_of, children):
            left, right, *others = map(pyiceberg_expression, children)
            found = (py.Or if any_of else py.And)(left, right, *others)
    return found


def _not_as_planned(test: Test) -> bool:
    """Whether PyIceberg 0.12 takes `not` of a test for something else when it reads rows.

    When it plans, it moves `not` into the tests, as servers do. When it reads rows, it does not: in a
    partition of null, each test is false and its `not` true, as it is for NaN, which has no order.
    """
    return test.column.is_partition or (test.column.kind.is_float and test.op in ORDERS)
