"""Filter expressions as trees, not bound to a table.

Source: Iceberg expressions specification, "Predicates" and "Appendix B: JSON serialization".
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import orjson

Json: TypeAlias = bool | int | float | str
"""A literal as JSON has it: how it is meant depends on the type of its column."""


class Op(Enum):
    """The test of one column, by its name in JSON."""

    IS_NULL = "is-null"
    NOT_NULL = "not-null"
    IS_NAN = "is-nan"
    NOT_NAN = "not-nan"
    LESS = "lt"
    LESS_OR_EQUAL = "lt-eq"
    GREATER = "gt"
    GREATER_OR_EQUAL = "gt-eq"
    EQUAL = "eq"
    NOT_EQUAL = "not-eq"
    STARTS_WITH = "starts-with"
    NOT_STARTS_WITH = "not-starts-with"
    IN = "in"
    NOT_IN = "not-in"

    @property
    def negated(self) -> Op:
        """The test that is true exactly if this one is false. Both are null for the same values."""
        return _NEGATED[self]


_PAIRS = (
    (Op.IS_NULL, Op.NOT_NULL),
    (Op.IS_NAN, Op.NOT_NAN),
    (Op.LESS, Op.GREATER_OR_EQUAL),
    (Op.GREATER, Op.LESS_OR_EQUAL),
    (Op.EQUAL, Op.NOT_EQUAL),
    (Op.STARTS_WITH, Op.NOT_STARTS_WITH),
    (Op.IN, Op.NOT_IN),
)
_NEGATED = {a: b for one, other in _PAIRS for a, b in ((one, other), (other, one))}
UNARY = frozenset((Op.IS_NULL, Op.NOT_NULL, Op.IS_NAN, Op.NOT_NAN))
SETS = frozenset((Op.IN, Op.NOT_IN))


@dataclass(frozen=True, slots=True)
class Term:
    """What a test compares: a column, or a transform of it.

    Attributes:
        transform: A transform such as `bucket[16]`, or `None` for the column itself.
    """

    name: str
    transform: str | None = None


@dataclass(frozen=True, slots=True)
class TermTest:
    """The test of a term against no literal, one literal, or for sets any number of them."""

    op: Op
    term: Term
    literals: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class AllOf:
    """True if all children are true."""

    children: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True if at least one child is true."""

    children: tuple[Expression, ...]


Expression: TypeAlias = bool | TermTest | AllOf | AnyOf
"""A filter. It has no negations, because the parser moves them into the tests."""


def column_tests(expression: Expression) -> Iterator[TermTest]:
    """All tests of a tree, from left to right."""
    match expression:
        case TermTest():
            yield expression
        case AllOf(children) | AnyOf(children):
            for child in children:
                yield from column_tests(child)


def all_of(children: list[Expression]) -> Expression:
    """The conjunction, simplified."""
    return _joined(AllOf, children, neutral=True)


def any_of(children: list[Expression]) -> Expression:
    """The disjunction, simplified."""
    return _joined(AnyOf, children, neutral=False)


def _joined(kind: type[AllOf | AnyOf], children: list[Expression], *, neutral: bool) -> Expression:
    if any(child is (not neutral) for child in children):
        return not neutral
    left = tuple(child for child in children if child is not neutral)
    if len(left) > 1:
        return kind(left)
    return left[0] if left else neutral


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
            return _joined_json("and", [_node(child) for child in children])
        case AnyOf(children):
            return _joined_json("or", [_node(child) for child in children])
        case TermTest():
            return _Node(_test(expression))


def _joined_json(kind: str, nodes: Sequence[_Node]) -> _Node:
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
