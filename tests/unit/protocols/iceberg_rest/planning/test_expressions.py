"""Filters in expression JSON: parsed in the forms of all clients, and written as residuals."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
import pytest

from sluicegate.api import InvalidRequest
from sluicegate.protocols.iceberg_rest.planning.expressions.parsing import (
    MAX_DEPTH,
    MAX_TESTS,
    parse_filter,
    parse_term,
)
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import (
    AllOf,
    AnyOf,
    Op,
    Term,
    TermTest,
    column_tests,
    expression_json,
)

A = Term("a")
EQ = {"type": "eq", "term": "a", "value": 1}
NULL = {"type": "is-null", "term": "b"}


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    "form",
    [
        lambda value: value,
        lambda value: str(value).lower(),
        lambda value: str(value).upper(),
        lambda value: {"type": str(value).lower()},
        lambda value: {"type": "literal", "value": value},
    ],
)
def test_constants_have_many_forms(form: Any, value: bool) -> None:
    assert parse_filter(form(value)) is value


@pytest.mark.parametrize("op", list(Op))
def test_each_test_is_written_as_it_was_read(op: Op) -> None:
    node: dict[str, Any] = {"type": op.value, "term": "a"}
    if op in (Op.IN, Op.NOT_IN):
        node["values"] = [1, "two", 2.5, False]
    elif op not in (Op.IS_NULL, Op.NOT_NULL, Op.IS_NAN, Op.NOT_NAN):
        node["value"] = "2024-01-01"
    parsed = parse_filter(node)
    assert isinstance(parsed, TermTest)
    assert parsed.op is op
    assert orjson.loads(expression_json(parsed)) == node


@pytest.mark.parametrize("op", list(Op))
def test_negations_end_in_the_tests(op: Op) -> None:
    node = {"type": op.value, "term": "a", "value": 1, "values": [1]}
    negated = parse_filter({"type": "not", "child": node})
    assert isinstance(negated, TermTest)
    assert negated.op is op.negated
    assert op.negated.negated is op
    assert parse_filter({"type": "not", "child": {"type": "not", "child": node}}) == parse_filter(node)


def test_a_negated_junction_is_the_other_one() -> None:
    both = {"type": "and", "left": EQ, "right": NULL}
    one, other = TermTest(Op.NOT_EQUAL, A, (1,)), TermTest(Op.NOT_NULL, Term("b"))
    assert parse_filter({"type": "not", "child": both}) == AnyOf((one, other))
    either = {"type": "or", "left": EQ, "right": NULL}
    assert parse_filter({"type": "not", "child": either}) == AllOf((one, other))


@pytest.mark.parametrize(
    ("node", "parsed"),
    [
        ({"type": "and", "left": EQ, "right": True}, TermTest(Op.EQUAL, A, (1,))),
        ({"type": "and", "left": EQ, "right": "false"}, False),
        ({"type": "or", "left": {"type": "true"}, "right": EQ}, True),
        ({"type": "or", "left": False, "right": EQ}, TermTest(Op.EQUAL, A, (1,))),
        ({"type": "in", "term": "a", "values": []}, False),
        ({"type": "not-in", "term": "a", "values": []}, True),
        ({"type": "not", "child": {"type": "in", "term": "a", "values": []}}, True),
        ({"type": "NOT_EQ", "term": "a", "value": 1}, TermTest(Op.NOT_EQUAL, A, (1,))),
        (
            {"type": "eq", "term": "a", "value": {"type": "literal", "value": 1}},
            TermTest(Op.EQUAL, A, (1,)),
        ),
        (
            {"type": "eq", "left": {"type": "reference", "name": "a"}, "right": 1},
            TermTest(Op.EQUAL, A, (1,)),
        ),
        (
            {
                "type": "in",
                "child": {"type": "reference", "name": "a"},
                "values": {"type": "literals", "values": [1, 2, 1], "data-type": "int"},
            },
            TermTest(Op.IN, A, (1, 2)),
        ),
        ({"type": "is-null", "child": {"type": "reference", "name": "a"}}, TermTest(Op.IS_NULL, A)),
    ],
)
def test_other_forms_mean_the_same(node: Any, parsed: Any) -> None:
    assert parse_filter(node) == parsed


@pytest.mark.parametrize(
    ("node", "term"),
    [
        ("a.b", Term("a.b")),
        ({"type": "reference", "term": "a"}, A),
        ({"type": "reference", "name": "a"}, A),
        ({"type": "transform", "transform": "identity", "term": "a"}, A),
        ({"type": "transform", "transform": "bucket[16]", "term": "a"}, Term("a", "bucket[16]")),
        (
            {
                "type": "transform",
                "transform": "day",
                "term": {"type": "reference", "term": "a"},
            },
            Term("a", "day"),
        ),
        ({"type": "apply", "function": "identity", "arguments": ["a"]}, A),
        (
            {
                "type": "apply",
                "function": {"catalog": "iceberg_functions", "identifier": ["year"]},
                "arguments": [{"type": "reference", "name": "a"}],
            },
            Term("a", "year"),
        ),
        (
            {"type": "apply", "function": ["truncate"], "arguments": [4, "a"]},
            Term("a", "truncate[4]"),
        ),
    ],
)
def test_terms_have_many_forms(node: Any, term: Term) -> None:
    assert parse_term(node) == term


def test_a_transform_is_written_as_java_reads_it() -> None:
    node = {"type": "eq", "term": {"type": "transform", "transform": "day", "term": "a"}, "value": 5}
    assert orjson.loads(expression_json(parse_filter(node))) == node


def test_a_negated_equality_can_be_true_for_null_as_spark_means_it() -> None:
    unequal, null = TermTest(Op.NOT_EQUAL, A, (1,)), TermTest(Op.IS_NULL, A)
    node = {"type": "not", "child": EQ}
    assert parse_filter(node, null_safe=True) == AnyOf((unequal, null))
    assert parse_filter(node) == unequal
    twice = {"type": "not", "child": node}
    assert parse_filter(twice, null_safe=True) == TermTest(Op.EQUAL, A, (1,))
    plain = {"type": "not-eq", "term": "a", "value": 1}
    assert parse_filter(plain, null_safe=True) == unequal
    both = {"type": "not", "child": {"type": "and", "left": EQ, "right": NULL}}
    assert parse_filter(both, null_safe=True) == parse_filter(both)


def test_long_chains_are_read_and_written_without_deep_nesting() -> None:
    chain: dict[str, Any] = EQ
    for number in range(2, 901):
        chain = {"type": "or", "left": chain, "right": {**EQ, "value": number}}
    parsed = parse_filter(chain)
    assert [test.literals for test in column_tests(parsed)] == [(number,) for number in range(1, 901)]
    again = orjson.loads(expression_json(parsed))
    assert parse_filter(again) == parsed

    assert depth(again) <= 11


def depth(node: Any) -> int:
    return 1 + max(depth(node["left"]), depth(node["right"])) if "left" in node else 1


def test_deep_filters_are_written_without_deeper_nesting() -> None:
    """Only the changes between AND and OR are levels, however many tests are next to each."""
    deep: dict[str, Any] = EQ
    for number in range(MAX_DEPTH - 1):
        for value in range(8):
            test = {**EQ, "value": value}
            sides = (deep, test) if value % 2 else (test, deep)
            deep = {"type": ("and", "or")[number % 2], "left": sides[0], "right": sides[1]}
    parsed = parse_filter(deep)
    again = orjson.loads(expression_json(parsed))
    assert depth(deep) == 1 + 8 * (MAX_DEPTH - 1)
    assert depth(again) <= MAX_DEPTH + 4
    assert Counter(column_tests(parse_filter(again))) == Counter(column_tests(parsed))


@pytest.mark.parametrize(
    ("node", "says"),
    [
        (None, "must consist of"),
        ([], "must consist of"),
        ({}, "must consist of"),
        ({"type": 1}, "must consist of"),
        ({"type": "like", "term": "a", "value": "x"}, "unknown type 'like'"),
        ({"type": "literal", "value": 1}, "neither true nor false"),
        ({"type": "not"}, "without 'child'"),
        ({"type": "and", "left": True}, "without 'right'"),
        ({"type": "eq", "term": "a"}, "without 'right'"),
        ({"type": "eq", "value": 1}, "without 'left'"),
        ({"type": "in", "term": "a"}, "without 'values'"),
        ({"type": "in", "term": "a", "values": 1}, "not a list"),
        ({"type": "in", "term": "a", "values": [None]}, "a literal that is not"),
        ({"type": "eq", "term": "a", "value": None}, "a literal that is not"),
        ({"type": "eq", "term": "a", "value": {"x": 1}}, "a literal that is not"),
        ({"type": "eq", "term": 5, "value": 1}, "neither the name of a column"),
        ({"type": "eq", "term": {"type": "reference", "id": 1}, "value": 1}, "neither the name"),
        (
            {"type": "eq", "term": {"type": "transform", "transform": 1, "term": "a"}, "value": 1},
            "not one of a column",
        ),
        (
            {"type": "eq", "left": {"type": "apply", "function": "f", "arguments": ["a"]}, "right": 1},
            "not a partition transform",
        ),
    ],
)
def test_what_is_no_expression_is_refused(node: Any, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        parse_filter(node)


def test_deep_and_large_filters_are_refused() -> None:
    deep: dict[str, Any] = EQ
    for number in range(MAX_DEPTH):
        deep = {"type": ("and", "or")[number % 2], "left": deep, "right": EQ}
    with pytest.raises(InvalidRequest, match="deeper than 100"):
        parse_filter(deep)
    assert parse_filter(deep["left"]) is not True
    many: dict[str, Any] = EQ
    for _ in range(MAX_TESTS):
        many = {"type": "or", "left": many, "right": EQ}
    with pytest.raises(InvalidRequest, match="more than 10000 tests"):
        parse_filter(many)
