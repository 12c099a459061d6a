"""Filters as Delta Sharing's JSON predicates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from support.filters.tree import Column, Filter, Junction, Op, Test, positive
from support.tables.predicate_kinds import KINDS

_OPS: Mapping[Op, str] = {
    Op.EQUAL: "equal",
    Op.LESS: "lessThan",
    Op.LESS_OR_EQUAL: "lessThanOrEqual",
    Op.GREATER: "greaterThan",
    Op.GREATER_OR_EQUAL: "greaterThanOrEqual",
    Op.IN: "in",
    Op.IS_NULL: "isNull",
    Op.NOT_NULL: "isNotNull",
}
_ANYTHING = {"op": "literal", "value": "true", "valueType": "bool"}
_LAST_CHARACTER = 0x10FFFF


def json_hint(tree: Filter) -> str:
    """A filter as `jsonPredicateHints`, or what these can say of it.

    They have neither NaN nor types of binary values, and prefixes only as ranges.
    """
    return json.dumps(_node(positive(tree)))


def _node(tree: Filter) -> dict[str, Any]:
    match tree:
        case Junction(any_of, children):
            return {"op": "or" if any_of else "and", "children": [_node(each) for each in children]}
        case Test():
            return _test(tree)
    raise TypeError(tree)


def _test(test: Test) -> dict[str, Any]:
    is_known = test.column.kind.delta in KINDS or not test.literals
    if not is_known or test.op in (Op.IS_NAN, Op.NOT_NAN):
        return _ANYTHING
    if test.op is Op.STARTS_WITH:
        return _with_prefix(test.column, test.literals[0])
    if test.op in _OPS:
        literals = [_literal(test.column, literal) for literal in test.literals]
        return {"op": _OPS[test.op], "children": [_column(test.column), *literals]}
    return {"op": "not", "children": [_test(Test(test.op.negated, test.column, test.literals))]}


def _with_prefix(column: Column, prefix: str) -> dict[str, Any]:
    tests = [_test(Test(Op.GREATER_OR_EQUAL, column, (prefix,)))]
    if stem := prefix.rstrip(chr(_LAST_CHARACTER)):
        tests += [_test(Test(Op.LESS, column, (stem[:-1] + chr(ord(stem[-1]) + 1),)))]
    return {"op": "and", "children": tests}


def _column(column: Column) -> dict[str, Any]:
    kind = KINDS.get(column.kind.delta)
    return {"op": "column", "name": column.name} | ({"valueType": kind.hint} if kind else {})


def _literal(column: Column, value: Any) -> dict[str, Any]:
    kind = KINDS[column.kind.delta]
    return {"op": "literal", "value": kind.literal(value), "valueType": kind.hint}
