"""JSON predicates as clients send them, and as nobody should."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables.filesets import file_set, kept, schema_field, table_metadata

from sluicegate.tables.predicates import from_hints

METADATA = table_metadata(
    [
        schema_field("hireDate", "date"),
        schema_field("id", "integer"),
        schema_field("name", "string"),
        schema_field("active", "boolean"),
    ],
    ["hireDate", "id", "name", "active"],
)
FILES = file_set(
    [
        ('{"hireDate": "2021-04-28", "id": "10", "name": "a", "active": "true"}', None),
        ('{"hireDate": "2021-04-29", "id": "20", "name": "b", "active": "true"}', None),
        ('{"hireDate": "2021-04-29", "id": "30", "name": "c", "active": "false"}', None),
        ('{"hireDate": "2021-04-30", "id": null, "name": "d", "active": null}', None),
    ]
)
ALL = {0, 1, 2, 3}


def column(name: Any, kind: Any = "int") -> dict[str, Any]:
    return {"op": "column", "name": name, "valueType": kind}


def literal(value: Any, kind: Any = "int") -> dict[str, Any]:
    return {"op": "literal", "value": value, "valueType": kind}


def op(name: Any, *children: Any) -> dict[str, Any]:
    return {"op": name, "children": list(children)}


ID = column("id")
DATE = op("equal", column("hireDate", "date"), literal("2021-04-29", "date"))
LESS = op("lessThan", ID, literal("25"))


def left(tree: Any) -> set[int]:
    return kept(FILES, METADATA, json_hint=tree if isinstance(tree, str) else json.dumps(tree))


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (DATE, {1, 2}),
        (op("and", DATE, LESS), {1}),
        (op("not", op("isNull", ID)), {0, 1, 2}),
        (op("isNotNull", ID), {0, 1, 2}),
        (op("isNull", ID), {3}),
        (op("equal", ID, literal("20")), {1}),
        (op("equal", literal("20"), ID), {1}),
        (op("equal", ID, literal(20)), {1}),
        (op("lessThan", ID, literal("20")), {0}),
        (op("lessThan", literal("20"), ID), {2}),
        (op("lessThanOrEqual", ID, literal("20")), {0, 1}),
        (op("greaterThan", ID, literal("20")), {2}),
        (op("greaterThanOrEqual", ID, literal("20")), {1, 2}),
        (op("or", LESS, op("isNull", ID)), {0, 1, 3}),
        (op("or", *(op("equal", ID, literal(str(n))) for n in (10, 30))), {0, 2}),
        (op("in", ID, literal("10"), literal("30")), {0, 2}),
        (op("not", op("in", ID, literal("10"), literal("30"))), {1}),
        (op("not", DATE), {0, 3}),
        (op("and", DATE), {1, 2}),
        (column("active", "bool"), {0, 1}),
        (op("not", column("active", "bool")), {2}),
        (op("and", literal("true", "bool"), DATE), {1, 2}),
        (literal("false", "bool"), set()),
        (op("equal", column("active", "bool"), literal(False, "bool")), {2}),
        (op("equal", column("ID"), literal("20")), {1}),
        (op("equal", column("id", "long"), literal("20", "long")), {1}),
        (op("equal", column("id", "long"), literal("20", "int")), {1}),
        (op("equal", column("id", "double"), literal("20.0", "double")), {1}),
        (op("lessThan", column("id", "double"), literal(14.5, "double")), {0}),
        (op("equal", {"op": "column", "name": "id"}, literal("20")), {1}),
        (op("equal", column("hireDate", "string"), literal("2021-04-29", "string")), {1, 2}),
        (op("isNull", literal("x", "string")), set()),
        # Spark's way to say `id <=> 20`.
        (op("or", op("and", op("isNull", ID), op("isNull", literal("20"))),
            op("and", op("isNotNull", ID), op("not", op("isNull", literal("20"))),
               op("equal", ID, literal("20")))), {1}),
    ],
)  # fmt: skip
def test_understood(tree: Any, expected: set[int]) -> None:
    assert left(tree) == expected


@pytest.mark.parametrize(
    "tree",
    [
        op("equal", ID),
        op("equal", ID, literal("20"), literal("30")),
        op("equal", ID, literal("twenty")),
        op("equal", ID, literal(None)),
        op("equal", column("name", "string"), literal("null", "string")),  # how Spark writes null
        op("equal", ID, literal("20", "string")),
        op("equal", column("id", "string"), literal("20", "string")),
        op("equal", column("id", "date"), literal("2021-04-29", "date")),
        op("equal", column("name", "int"), literal("20")),
        op("equal", column("salary"), literal("20")),
        op("equal", column("id", "uuid"), literal("20", "uuid")),
        op("equal", column("id", None), literal("20", None)),
        op("equal", literal("1"), literal("2")),
        op("equal", ID, ID),
        op("equal", DATE, LESS),
        op("like", column("name", "string"), literal("a%", "string")),
        op("not"),
        op("not", DATE, LESS),
        op("and"),
        op("or"),
        op("isNull", DATE),
        op("isNull", column("name", "int")),  # a cast that fails is null
        op(["equal"], ID, literal("20")),
        op({}, ID),
        op(None, ID),
        {"op": "equal"},
        {"op": "equal", "children": {"op": "column"}},
        {"op": "column", "name": 7},
        {"op": "literal", "value": [], "valueType": "bool"},
        {},
        [],
        7,
        None,
        "",
        " ",
        "{",
        "NaN",
        '"\\ud800"',
        json.dumps(op("equal", column("name", "string"), literal("\ud800", "string"))),
        "[" * 500_000,
        '{"op":"not","children":[' * 40_000,
        json.dumps(DATE) + " " * (1 << 20),
        json.dumps(op("equal", ID, literal("9" * 10_000))),
    ],
)
def test_not_understood_and_so_ignored(tree: Any) -> None:
    assert left(tree) == ALL


def test_what_is_understood_counts_beside_what_is_not() -> None:
    strange = op("like", column("name", "string"), literal("a%", "string"))
    assert left(op("and", DATE, strange)) == {1, 2}
    assert left(op("or", DATE, strange)) == ALL
    assert left(op("not", op("or", DATE, strange))) == {0, 3}
    assert left(op("not", op("and", DATE, strange))) == ALL


@pytest.mark.parametrize(("nots", "expected"), [(96, {1, 2}), (97, {0, 3}), (98, {1, 2}), (99, ALL)])
def test_trees_of_up_to_a_hundred_ops_are_followed(nots: int, expected: set[int]) -> None:
    tree = DATE
    for _ in range(nots):
        tree = op("not", tree)
    assert left(tree) == expected


def test_hints_up_to_a_megabyte_are_read() -> None:
    text = json.dumps(op("or", *(op("equal", ID, literal(str(n))) for n in range(100, 7500)), DATE))
    padded = text + " " * ((1 << 20) - len(text))
    assert len(text) > 700_000
    assert left(padded) == {1, 2}


def test_both_kinds_of_hints_hold_together() -> None:
    assert kept(FILES, METADATA, "id < 25", "nonsense (", "id > 5", json_hint=json.dumps(DATE)) == {1}
    assert kept(FILES, METADATA, "nonsense (", json_hint=json.dumps(DATE)) == {1, 2}
    assert kept(FILES, METADATA, "id < 25", json_hint="nonsense") == {0, 1}


def test_no_hints_are_no_predicate() -> None:
    assert from_hints(None, ()) is None
    assert from_hints("", ["", "?"]) is None


NODES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.builds(column, st.sampled_from(["id", "name", "active", "x"]),
                st.sampled_from(["int", "long", "string", "bool", "date", "timestamp", "float", None]))
    | st.builds(literal, st.text(max_size=5) | st.integers() | st.floats() | st.booleans(),
                st.sampled_from(["int", "double", "decimal", "string", "bool", "timestamp", None])),
    lambda inner: st.builds(
        lambda name, children: op(name, *children),
        st.sampled_from(["and", "or", "not", "equal", "lessThan", "isNull", "in", "x"]),
        st.lists(inner, max_size=4),
    ) | st.dictionaries(st.sampled_from(["op", "children", "name", "value"]), inner),
    max_leaves=15,
)  # fmt: skip


@given(NODES)
def test_no_tree_is_an_error(tree: Any) -> None:
    assert left(json.dumps(tree)) <= ALL


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    assert left(text) == ALL or text.strip() in ("true", "false")
