"""Parses the predicate hints of a query request, in both formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluicegate.api.conditions.expressions import (
    FALSE,
    MAX_DEPTH,
    TRUE,
    UNKNOWN,
    And,
    Column,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Not,
    Operator,
    all_of,
    any_of,
    compared,
)
from sluicegate.api.conditions.grammar import Parser
from sluicegate.api.conditions.tokens import NotUnderstood
from sluicegate.tables.predicates.moments import may_be_cut

MAX_SQL_CHARACTERS = 1 << 16


def parse_sql_hint(text: str) -> Expression | None:
    """The predicate of one of the `predicateHints`. `None` if it is not understood."""
    if len(text) > MAX_SQL_CHARACTERS:
        return None
    try:
        return Parser(text).parse()
    except NotUnderstood:
        return None


MAX_CHARACTERS = 1 << 20

_OPERATORS = {
    "equal": Operator.EQUAL,
    "lessThan": Operator.LESS,
    "lessThanOrEqual": Operator.LESS_OR_EQUAL,
    "greaterThan": Operator.GREATER,
    "greaterThanOrEqual": Operator.GREATER_OR_EQUAL,
}
_TYPES = {"boolean": "bool", "integer": "int", "bigint": "long"}
_NO_VALUE = "null"  # what Spark's client writes for a null literal, regardless of its type


def parse_json_hint(text: str) -> Expression | None:
    """The predicate of `jsonPredicateHints`.

    Returns:
        `None` if it is not JSON, longer than 1 MB, or deeper than 100 ops.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        tree = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
        return _expression(tree, MAX_DEPTH)
    except (ValueError, RecursionError):
        return None


def _expression(node: Any, depth: int) -> Expression:
    """The expression of a node."""
    if depth == 0:
        raise ValueError("too deep")
    op = node.get("op") if isinstance(node, dict) else None
    if not isinstance(op, str):
        return UNKNOWN
    if op in ("column", "literal"):
        return _truth_of_leaf(_leaf(node))
    children = _children(node)
    if op in _JUNCTIONS:
        return _JUNCTIONS[op]([_expression(child, depth - 1) for child in children])
    leaves = [_leaf(child, depth - 1) for child in children]
    if op in _OPERATORS:
        return _comparison(_OPERATORS[op], leaves)
    if op in _TESTS:
        return _TESTS[op](leaves)
    return UNKNOWN


def _children(node: Mapping[str, Any]) -> list[Any]:
    children = node.get("children")
    return children if isinstance(children, list) else []


def _leaf(node: Any, depth: int = 1) -> Column | Literal | None:
    if depth == 0:
        raise ValueError("too deep")
    if not isinstance(node, dict):
        return None
    name, value = node.get("name"), node.get("value")
    if node.get("op") == "column" and isinstance(name, str):
        return Column((name,), _value_type(node))
    if node.get("op") == "literal" and (text := _text(value)) is not None:
        return Literal(text, _literal_type(node, text))
    return None


def _value_type(node: Mapping[str, Any]) -> str | None:
    value_type = node.get("valueType")
    if not isinstance(value_type, str):
        return None
    name = value_type.lower()
    return _TYPES.get(name, name)


def _literal_type(node: Mapping[str, Any], text: str) -> str | None:
    """The type of a literal. Spark's client truncates timestamps to milliseconds only in JSON hints."""
    name = _value_type(node)
    cut = name in ("timestamp", "timestamp_ntz") and may_be_cut(text)
    return f"{name}(3)" if cut else name


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) and value != _NO_VALUE else None


_Leaves = list[Column | Literal | None]


def _comparison(operator: Operator, leaves: _Leaves) -> Expression:
    if len(leaves) != 2 or leaves[0] is None or leaves[1] is None:
        return UNKNOWN
    return compared(operator, leaves[0], leaves[1])


def _is_null(leaves: _Leaves) -> Expression:
    match leaves:
        case [Column() as column]:
            return IsNull(column)
        case [Literal()]:
            return FALSE
    return UNKNOWN


def _is_not_null(leaves: _Leaves) -> Expression:
    return Not(_is_null(leaves))


def _in(leaves: _Leaves) -> Expression:
    match leaves:
        case [Column() as column, first, *others]:
            return any_of(_comparison(Operator.EQUAL, [column, each]) for each in (first, *others))
    return UNKNOWN


def _and(children: list[Expression]) -> Expression:
    return all_of(children) if children else UNKNOWN


def _or(children: list[Expression]) -> Expression:
    return any_of(children) if children else UNKNOWN


def _not(children: list[Expression]) -> Expression:
    return Not(children[0]) if len(children) == 1 else UNKNOWN


def _truth_of_leaf(leaf: Column | Literal | None) -> Expression:
    """A boolean column or literal that is a predicate on its own."""
    match leaf:
        case Column(_, "bool" | None):
            return Comparison(Operator.EQUAL, leaf, (Literal("true", "bool"),))
        case Literal(text, "bool"):
            return {"true": TRUE, "false": FALSE}.get(text.lower(), UNKNOWN)
    return UNKNOWN


_JUNCTIONS: Mapping[str, Callable[[list[Expression]], Expression]] = {
    "and": _and,
    "or": _or,
    "not": _not,
}
_TESTS: Mapping[str, Callable[[_Leaves], Expression]] = {
    "isNull": _is_null,
    "isNotNull": _is_not_null,
    "in": _in,
}


MAX_SQL_HINTS = 100


@dataclass(frozen=True, slots=True)
class Predicate:
    """Conditions that all requested rows satisfy. Conditions that were not understood are omitted."""

    terms: tuple[Expression, ...]


def from_hints(json_hint: str | None, sql_hints: Sequence[str]) -> Predicate | None:
    """Parse the hints of a query ("Query Table", `jsonPredicateHints` and `predicateHints`).

    Hints are only optimizations, so no hint from a client is an error.

    Returns:
        `None` if no hint was understood.
    """
    hints = [parse_sql_hint(text) for text in sql_hints[:MAX_SQL_HINTS]]
    if json_hint:
        hints.append(parse_json_hint(json_hint))
    terms = tuple(term for hint in hints if hint is not None for term in _conjuncts(hint))
    return Predicate(terms) if terms else None


def _conjuncts(expression: Expression) -> tuple[Expression, ...]:
    return expression.children if isinstance(expression, And) else (expression,)
