"""Writes expressions as JSON that all clients parse: Java's `ExpressionParser`, and PyIceberg."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from sluicegate.protocols.iceberg_rest.planning.expressions.tree import (
    SETS,
    UNARY,
    AllOf,
    AnyOf,
    Expression,
    Term,
    TermTest,
)


def expression_json(expression: Expression) -> bytes:
    """The JSON text of an expression. Literals are as the client wrote them."""
    return orjson.dumps(_node(expression))


def _node(expression: Expression) -> Any:
    match expression:
        case bool():
            return expression
        case AllOf(children):
            return _balanced("and", [_node(child) for child in children])
        case AnyOf(children):
            return _balanced("or", [_node(child) for child in children])
        case TermTest():
            return _test(expression)


def _balanced(kind: str, nodes: Sequence[Any]) -> Any:
    """A tree of two operands each. It is balanced because clients limit the depth of JSON."""
    if len(nodes) == 1:
        return nodes[0]
    middle = len(nodes) // 2
    left, right = _balanced(kind, nodes[:middle]), _balanced(kind, nodes[middle:])
    return {"type": kind, "left": left, "right": right}


def _test(test: TermTest) -> dict[str, Any]:
    node: dict[str, Any] = {"type": test.op.value, "term": _term(test.term)}
    if test.op in SETS:
        return node | {"values": list(test.literals)}
    return node if test.op in UNARY else node | {"value": test.literals[0]}


def _term(term: Term) -> Any:
    if term.transform is None:
        return term.name
    return {"type": "transform", "transform": term.transform, "term": term.name}
