"""Parses filters from expression JSON, in the forms of all client versions.

Source: Iceberg expressions specification, "Appendix B: JSON serialization". The forms with `term` are
deprecated there, but are those that Java clients up to 1.12 and PyIceberg write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sluicegate.api.errors import InvalidRequest
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import (
    SETS,
    UNARY,
    Expression,
    Json,
    Op,
    Term,
    TermTest,
    all_of,
    any_of,
)

_IDENTITY = "identity"
_FUNCTIONS = ("year", "month", "day", "hour")
_PARAMETERIZED = ("bucket", "truncate")


def parse_term(node: Any) -> Term:
    """Parse a term. `identity` of a column is the column itself."""
    if isinstance(node, str):
        return Term(node)
    kind = node.get("type") if isinstance(node, dict) else None
    if kind == "reference":
        name = node.get("term", node.get("name"))
        if isinstance(name, str):
            return Term(name)
    if kind == "transform":
        return _transformed(node.get("transform"), node.get("term"))
    if kind == "apply":
        return _applied(node)
    raise InvalidRequest("filter has a term that is neither the name of a column nor a transform of it")


def _transformed(transform: Any, child: Any) -> Term:
    if not isinstance(transform, str) or (isinstance(child, dict) and child.get("type") != "reference"):
        raise InvalidRequest("filter has a transform that is not one of a column")
    term = parse_term(child)
    return term if transform.lower() == _IDENTITY else Term(term.name, transform)


def _applied(node: Mapping[str, Any]) -> Term:
    """A function of the specification (Iceberg expressions specification, "Partition transforms")."""
    function, arguments = node.get("function"), node.get("arguments")
    if isinstance(function, dict):
        function = function.get("identifier")
    if isinstance(function, list):
        function = function[-1] if function else None
    match function, arguments:
        case "identity", [child]:
            return _transformed(_IDENTITY, child)
        case str(), [child] if function in _FUNCTIONS:
            return _transformed(function, child)
        case str(), [int() as parameter, child] if function in _PARAMETERIZED:
            return _transformed(f"{function}[{parameter}]", child)
    raise InvalidRequest("filter applies a function that is not a partition transform of a column")


MAX_DEPTH = 100  # of changes between AND, OR and NOT; chains of one of them can be longer
MAX_TESTS = 10_000
_CONSTANTS = {"true": True, "false": False}
_OPS = {op.value: op for op in Op}
_TERM = {op: ("child" if op in UNARY | SETS else "left") for op in Op}


def parse_filter(node: Any, *, null_safe: bool = False) -> Expression:
    """Parse the JSON value of a filter. Negations are moved into the tests."""
    return _Parser(null_safe).expression(node, negated=False, depth=MAX_DEPTH)


class _Parser:
    """Counts the tests of one filter."""

    def __init__(self, null_safe: bool) -> None:
        self._null_safe = null_safe
        self._left = MAX_TESTS

    def expression(self, node: Any, *, negated: bool, depth: int) -> Expression:
        if depth == 0:
            raise InvalidRequest(f"filter is nested deeper than {MAX_DEPTH} expressions")
        constant = _constant(node)
        if constant is not None:
            return constant is not negated
        kind = _type(node)
        if kind == "not":
            child = _member(node, "child")
            found = self.expression(child, negated=not negated, depth=depth - 1)
            return _with_null(found) if self._null_safe and _is_equality(child) else found
        if kind in ("and", "or"):
            children = [
                self.expression(child, negated=negated, depth=depth - 1)
                for child in _operands(node, kind)
            ]
            return all_of(children) if (kind == "and") is not negated else any_of(children)
        if kind not in _OPS:
            raise InvalidRequest(f"filter has an expression of the unknown type {kind[:50]!r}")
        return self._test(_OPS[kind], node, negated)

    def _test(self, op: Op, node: Mapping[str, Any], negated: bool) -> Expression:
        self._left -= 1
        if self._left < 0:
            raise InvalidRequest(f"filter has more than {MAX_TESTS} tests: use 'in' for many values")
        operand = node.get("term")
        term = parse_term(operand if operand is not None else _member(node, _TERM[op]))
        literals = _literals(op, node)
        if op in SETS and not literals:
            return (op is Op.NOT_IN) is not negated
        return TermTest(op.negated if negated else op, term, literals)


def _is_equality(node: Any) -> bool:
    return isinstance(node, dict) and _constant(node) is None and _type(node) == Op.EQUAL.value


def _with_null(test: Expression) -> Expression:
    """A test that is also true for null, if it is an inequality."""
    if isinstance(test, TermTest) and test.op is Op.NOT_EQUAL:
        return any_of([test, TermTest(Op.IS_NULL, test.term)])
    return test


def _operands(node: Mapping[str, Any], kind: str) -> Iterator[Any]:
    """The operands of a chain of one operator, from left to right, without recursion."""
    waiting: list[Any] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict) and _constant(each) is None and _type(each) == kind:
            waiting += (_member(each, "right"), _member(each, "left"))
        else:
            yield each


def _constant(node: Any) -> bool | None:
    """The value of a constant, which is a boolean, a text, or an object."""
    if isinstance(node, bool):
        return node
    if isinstance(node, str):
        return _CONSTANTS.get(node.lower())
    if isinstance(node, dict) and isinstance(node.get("type"), str):
        kind = node["type"].lower()
        if kind == "literal":
            if isinstance(node.get("value"), bool):
                return bool(node["value"])
            raise InvalidRequest("filter has a literal that is neither true nor false")
        return _CONSTANTS.get(kind)
    return None


def _type(node: Any) -> str:
    if not isinstance(node, dict) or not isinstance(node.get("type"), str):
        raise InvalidRequest("filter must consist of booleans, and of objects with a 'type'")
    return str(node["type"]).lower().replace("_", "-")


def _member(node: Mapping[str, Any], name: str) -> Any:
    if name not in node:
        raise InvalidRequest(f"filter has an expression of type {_type(node)!r} without '{name}'")
    return node[name]


def _literals(op: Op, node: Mapping[str, Any]) -> tuple[Json, ...]:
    if op in UNARY:
        return ()
    if op not in SETS:
        return (_literal(_member(node, "value" if "value" in node else "right")),)
    values = _member(node, "values")
    if isinstance(values, dict) and values.get("type") == "literals":
        values = values.get("values")
    if not isinstance(values, list):
        raise InvalidRequest("filter has 'values' that are not a list")
    return tuple(dict.fromkeys(_literal(value) for value in values))


def _literal(node: Any) -> Json:
    if isinstance(node, dict) and str(node.get("type")).lower() == "literal":
        node = node.get("value")
    if isinstance(node, bool | int | float | str):
        return node
    raise InvalidRequest("filter has a literal that is not a boolean, a number or a string")
