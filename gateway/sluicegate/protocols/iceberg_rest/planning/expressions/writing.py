"""Writes expressions as JSON that all clients parse: Java's `ExpressionParser`, and PyIceberg."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class _Node:
    """A JSON value, and the levels of `and` and `or` in it."""

    value: Any
    depth: int = 0


def expression_json(expression: Expression) -> bytes:
    """The JSON text of an expression. Literals are as the client wrote them."""
    return orjson.dumps(_node(expression).value)


def _node(expression: Expression) -> _Node:
    match expression:
        case bool():
            return _Node(expression)
        case AllOf(children):
            return _joined("and", [_node(child) for child in children])
        case AnyOf(children):
            return _joined("or", [_node(child) for child in children])
        case TermTest():
            return _Node(_test(expression))


def _joined(kind: str, nodes: Sequence[_Node]) -> _Node:
    """A tree of two operands each, as flat as possible: clients and orjson limit the depth of JSON."""
    tests = [node for node in nodes if not node.depth]
    waiting = [node for node in nodes if node.depth]
    if tests:
        waiting.insert(0, _balanced(kind, tests))
    heap = [(node.depth, place, node) for place, node in enumerate(waiting)]
    heapq.heapify(heap)
    while len(heap) > 1:
        _, place, left = heapq.heappop(heap)
        _, _, right = heapq.heappop(heap)
        both = _both(kind, left, right)
        heapq.heappush(heap, (both.depth, place, both))
    return heap[0][2]


def _balanced(kind: str, nodes: Sequence[_Node]) -> _Node:
    """The nodes in their order."""
    if len(nodes) == 1:
        return nodes[0]
    middle = len(nodes) // 2
    return _both(kind, _balanced(kind, nodes[:middle]), _balanced(kind, nodes[middle:]))


def _both(kind: str, left: _Node, right: _Node) -> _Node:
    value = {"type": kind, "left": left.value, "right": right.value}
    return _Node(value, 1 + max(left.depth, right.depth))


def _test(test: TermTest) -> dict[str, Any]:
    node: dict[str, Any] = {"type": test.op.value, "term": _term(test.term)}
    if test.op in SETS:
        return node | {"values": list(test.literals)}
    return node if test.op in UNARY else node | {"value": test.literals[0]}


def _term(term: Term) -> Any:
    if term.transform is None:
        return term.name
    return {"type": "transform", "transform": term.transform, "term": term.name}
