"""Which partitions a filter leaves, what is left of it there, and how it prunes other columns."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import iceberg_shape

from sluicegate.api import InvalidRequest, UnsupportedOperation
from sluicegate.api.conditions import And, Column, Comparison, IsNull, Literal, Not, Operator, Or
from sluicegate.protocols.iceberg_rest.planning.expressions.columns import Columns
from sluicegate.protocols.iceberg_rest.planning.expressions.decisions import Decisions
from sluicegate.protocols.iceberg_rest.planning.expressions.parsing import parse_filter
from sluicegate.protocols.iceberg_rest.planning.expressions.tree import expression_json
from sluicegate.protocols.iceberg_rest.planning.partitions import PartitionReader
from sluicegate.protocols.iceberg_rest.planning.selection import predicate_of
from sluicegate.protocols.iceberg_rest.planning.specs import spec_without
from sluicegate.tables.iceberg.shape import Field, IcebergShape, ListOf, MapOf, Struct

METADATA = table_metadata(
    [
        schema_field("id", "long"),
        schema_field("name", "string"),
        schema_field("price", "decimal(9,2)"),
        schema_field("at", "timestamp"),
        schema_field("point", {"type": "struct", "fields": [schema_field("x", "double")]}),
        schema_field("day", "date"),
        schema_field("Land", "string"),
    ],
    ["day", "Land"],
)
SHAPE = iceberg_shape(METADATA)
COLUMNS = Columns(SHAPE, case_sensitive=True)
DATA = {"type": "gt", "term": "id", "value": 5}
DE = '{"day":"2024-01-02","Land":"DE"}'
NULLS = '{"day":null,"Land":""}'


def op(kind: str, term: Any, *literals: Any) -> dict[str, Any]:
    node: dict[str, Any] = {"type": kind, "term": term}
    if kind in ("in", "not-in"):
        return node | {"values": list(literals)}
    return node | ({"value": literals[0]} if literals else {})


def both(left: Any, right: Any) -> dict[str, Any]:
    return {"type": "and", "left": left, "right": right}


def either(left: Any, right: Any) -> dict[str, Any]:
    return {"type": "or", "left": left, "right": right}


def residual(node: Any, partition: str = DE) -> Any:
    decisions = Decisions(parse_filter(node), COLUMNS)
    values = PartitionReader(SHAPE).values(partition, decisions.places)
    return orjson.loads(expression_json(decisions.residual(values)))


@pytest.mark.parametrize(
    ("kind", "literals", "for_value", "for_null"),
    [
        ("eq", ["DE"], True, False),
        ("eq", ["FR"], False, False),
        ("not-eq", ["DE"], False, False),
        ("not-eq", ["FR"], True, False),
        ("lt", ["DF"], True, False),
        ("lt-eq", ["DE"], True, False),
        ("gt", ["DE"], False, False),
        ("gt-eq", ["DE"], True, False),
        ("in", ["FR", "DE"], True, False),
        ("not-in", ["FR", "IT"], True, False),
        ("not-in", ["FR", "DE"], False, False),
        ("starts-with", ["D"], True, False),
        ("not-starts-with", ["D"], False, False),
        ("not-starts-with", ["F"], True, False),
        ("is-null", [], False, True),
        ("not-null", [], True, False),
        ("is-nan", [], False, False),
        ("not-nan", [], True, True),
    ],
)
def test_comparisons_with_null_are_not_true_and_neither_are_their_negations(
    kind: str, literals: list[str], for_value: bool, for_null: bool
) -> None:
    node = op(kind, "Land", *literals)
    assert (residual(node), residual(node, NULLS)) == (for_value, for_null)
    negated = {"type": "not", "child": node}
    null_is_compared = kind in ("is-null", "not-null", "is-nan", "not-nan")
    assert residual(negated) is not for_value
    assert residual(negated, NULLS) is (not for_null if null_is_compared else False)


@pytest.mark.parametrize(
    ("node", "left"),
    [
        (DATA, DATA),
        (both(DATA, op("eq", "Land", "DE")), DATA),
        (both(DATA, op("eq", "Land", "FR")), False),
        (either(DATA, op("eq", "Land", "DE")), True),
        (either(DATA, op("eq", "Land", "FR")), DATA),
        (either(both(DATA, op("eq", "day", 19724)), op("gt", "day", "2024-01-02")), DATA),
        ({"type": "not", "child": both(DATA, op("eq", "Land", "DE"))}, op("lt-eq", "id", 5)),
    ],
)
def test_what_is_left_tests_no_partition_column(node: Any, left: Any) -> None:
    assert residual(node) == left


def transformed(transform: str, name: str) -> dict[str, Any]:
    return {"type": "transform", "transform": transform, "term": name}


@pytest.mark.parametrize(
    ("transform", "name", "literal", "holds"),
    [
        ("identity", "day", "2024-01-02", True),
        ("year", "day", 54, True),
        ("year", "day", 19724, False),
        ("day", "day", "2024-01-02", True),
        ("truncate[1]", "Land", "D", True),
        ("truncate[1]", "Land", "DE", False),
    ],
)
def test_transforms_of_partition_columns_are_decided(
    transform: str, name: str, literal: Any, holds: bool
) -> None:
    term = transformed(transform, name)
    assert residual(op("eq", term, literal)) is holds
    assert residual(op("eq", term, literal), NULLS) is False
    assert residual(op("is-null", term), NULLS) is True


def test_transforms_of_other_columns_and_unknown_ones_are_left() -> None:
    for term in (
        transformed("bucket[4]", "id"),
        transformed("hour", "day"),
        transformed("zorder", "day"),
    ):
        assert residual(op("eq", term, 1)) == op("eq", term, 1)


@pytest.mark.parametrize(
    ("node", "says"),
    [
        (op("eq", "missing", 1), "filter: the table has no column named 'missing'"),
        (op("is-null", "land"), "no column named 'land'"),
        (op("eq", "day", "tomorrow"), "compares 'day' with a literal that is not a date"),
        (op("starts-with", "day", "2024-01-01"), "'starts-with' of 'day', whose type is date"),
        (op("eq", "Land", 5), "not a string: its type is string"),
    ],
)
def test_filters_that_do_not_match_the_table_are_refused(node: Any, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        Decisions(parse_filter(node), COLUMNS)


def test_values_that_clients_cannot_read_are_refused() -> None:
    reader = PartitionReader(SHAPE)
    spec = b'"spec-id":%d' % spec_without((), SHAPE)
    assert reader.members(DE) == spec + b',"partition":["2024-01-02","DE"]'
    assert reader.members(NULLS) == spec + b',"partition":[null,null]'
    with pytest.raises(UnsupportedOperation, match="'day' this Iceberg client cannot read as date"):
        reader.members('{"day":"noon","Land":"x"}')
    metadata = table_metadata([schema_field("v", "variant")], ["v"])
    with pytest.raises(UnsupportedOperation, match="'v' this Iceberg client cannot read as variant"):
        PartitionReader(iceberg_shape(metadata)).members('{"v":"x"}')
    metadata = table_metadata([schema_field("v", "decimal(3,1)")], ["v"])
    with pytest.raises(UnsupportedOperation, match="'v' this Iceberg client cannot read"):
        PartitionReader(iceberg_shape(metadata)).members('{"v":"0.55"}')


def compared(operator: Operator, name: str, text: str, kind: str) -> Comparison:
    return Comparison(operator, Column((name,)), (Literal(text, kind),))


@pytest.mark.parametrize(
    ("node", "terms"),
    [
        (DATA, [compared(Operator.GREATER, "id", "5", "long")]),
        (op("lt", "id", 5.5), [compared(Operator.LESS, "id", "5.5", "double")]),
        (
            op("gt-eq", "price", "1.50"),
            [compared(Operator.GREATER_OR_EQUAL, "price", "1.50", "decimal")],
        ),
        (
            op("lt-eq", "at", 1704164645000006),
            [compared(Operator.LESS_OR_EQUAL, "at", "2024-01-02T03:04:05.000006+00:00", "timestamp")],
        ),
        (op("not-eq", "day", 19724), [Not(compared(Operator.EQUAL, "day", "2024-01-02", "date"))]),
        (op("is-null", "point.x"), [IsNull(Column(("point", "x")))]),
        (op("not-null", "point"), [Not(IsNull(Column(("point",))))]),
        (
            op("starts-with", "name", "ab"),
            [
                compared(Operator.GREATER_OR_EQUAL, "name", "ab", "string"),
                compared(Operator.LESS, "name", "ac", "string"),
            ],
        ),
        (
            op("not-starts-with", "name", "a\ud7ff\U0010ffff"),
            [
                Not(
                    And(
                        (
                            compared(Operator.GREATER_OR_EQUAL, "name", "a\ud7ff\U0010ffff", "string"),
                            compared(Operator.LESS, "name", "a\ue000", "string"),
                        )
                    )
                )
            ],
        ),
        (
            op("starts-with", "name", "\U0010ffff"),
            [compared(Operator.GREATER_OR_EQUAL, "name", "\U0010ffff", "string")],
        ),
        (
            either(DATA, op("in", "id", 1, 2)),
            [
                Or(
                    (
                        compared(Operator.GREATER, "id", "5", "long"),
                        Comparison(
                            Operator.EQUAL,
                            Column(("id",)),
                            (Literal("1", "long"), Literal("2", "long")),
                        ),
                    )
                )
            ],
        ),
        (both(DATA, op("is-nan", "point.x")), [compared(Operator.GREATER, "id", "5", "long")]),
    ],
)
def test_data_columns_prune_by_the_same_conditions(node: Any, terms: list[Any]) -> None:
    predicate = predicate_of(parse_filter(node), COLUMNS)
    assert predicate is not None
    assert list(predicate.terms) == terms


@pytest.mark.parametrize(
    "node",
    [
        True,
        op("is-nan", "point.x"),
        op("eq", "point", 1),
        op("eq", "name", 5),
        op("eq", "id", "five"),
        op("starts-with", "id", 5),
        op("eq", "day", 10**9),
        op("eq", {"type": "transform", "transform": "bucket[4]", "term": "id"}, 1),
    ],
)
def test_what_is_not_understood_prunes_nothing(node: Any) -> None:
    assert predicate_of(parse_filter(node), COLUMNS) is None


def test_names_can_ignore_case_but_must_be_unique() -> None:
    columns = Columns(SHAPE, case_sensitive=False)
    assert columns.find("LAND", "filter").place == 1
    assert columns.find("POINT.X", "filter").field.name == "x"
    twins = table_metadata([schema_field("a", "long"), schema_field("A", "long")])
    with pytest.raises(InvalidRequest, match="select: the table has more than one column named 'A'"):
        Columns(iceberg_shape(twins), case_sensitive=False).find("A", "select")
    assert Columns(iceberg_shape(twins), case_sensitive=True).find("A", "select").field.id == 2


def test_columns_in_lists_and_maps_have_names_and_no_single_value() -> None:
    item = Struct((Field(4, "x", "long", "x"),))
    names = ListOf(Field(2, "anything", item, "element"))
    pairs = MapOf(Field(6, "k", "string", "key"), Field(7, "v", "long", "value"))
    shape = IcebergShape(
        Struct((Field(1, "list", names, "list"), Field(5, "map", pairs, "map"))), (), 7, 2
    )
    columns = Columns(shape, case_sensitive=True)
    for name, number in (("list.element.x", 4), ("map.key", 6), ("map.value", 7)):
        column = columns.find(name, "filter")
        assert (column.field.id, column.in_structs) == (number, False)
        assert predicate_of(parse_filter(op("is-null", name)), columns) is None
    assert columns.find("list", "filter").primitive is None
