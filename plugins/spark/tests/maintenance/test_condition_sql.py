"""Conditions are generated from syntax trees: names and strings of a payload remain such."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.api import DelegatedTask, TableIdentity, TaskFailed, conditions
from sluicegate_iceberg.names import TableName
from sluicegate_spark.config import SparkConfig
from sluicegate_spark.engine import Engine
from sluicegate_spark.maintenance.compaction import DeltaCompaction, IcebergCompaction, compact
from sluicegate_spark.maintenance.condition_sql import condition_sql
from sluicegate_spark.properties import parse
from sluicegate_spark.tables import Format, Table, TableAccess
from sluicegate_spark.work import Work
from sluicegate_testing.executors import RecordedRun

TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("'\\`\"-/*;${}\n\x00"))
NUMBERS = st.from_regex(r"\A-?([0-9]{1,5}\.?[0-9]{0,3}|\.[0-9]{1,3})(e[+-]?[0-9]{1,2})?\Z")
CASTS = ("bool", "byte", "short", "int", "long", "float", "double", "string", "date", "timestamp")
COLUMNS = st.builds(
    conditions.Column,
    st.lists(TEXTS.filter(bool), min_size=1, max_size=3).map(tuple),
    st.none() | st.sampled_from(CASTS),
)
LITERALS = st.one_of(
    st.builds(conditions.Literal, TEXTS, st.sampled_from(("quoted", *CASTS, "timestamp_ntz"))),
    st.builds(conditions.Literal, NUMBERS, st.sampled_from(("number", "decimal"))),
)
EQUALITIES = st.builds(
    lambda column, literals: conditions.Comparison(conditions.Operator.EQUAL, column, tuple(literals)),
    COLUMNS,
    st.lists(LITERALS, min_size=1, max_size=3, unique=True),
)
RANGES = st.builds(
    lambda operator, column, literal: conditions.Comparison(operator, column, (literal,)),
    st.sampled_from([each for each in conditions.Operator if each is not conditions.Operator.EQUAL]),
    COLUMNS,
    LITERALS,
)
CONSTANTS = st.sampled_from([conditions.TRUE, conditions.FALSE, conditions.NULL])
LEAVES = st.one_of(CONSTANTS, st.builds(conditions.IsNull, COLUMNS), EQUALITIES, RANGES)


def several(
    children: st.SearchStrategy[conditions.Expression],
) -> st.SearchStrategy[tuple[conditions.Expression, ...]]:
    return st.lists(children, min_size=2, max_size=3).map(tuple)


def no_equality(tree: conditions.Expression) -> bool:
    """The parser joins equalities of one column within an OR, and puts them first."""
    return not (isinstance(tree, conditions.Comparison) and tree.operator is conditions.Operator.EQUAL)


TREES = st.recursive(
    LEAVES,
    lambda children: st.one_of(
        st.builds(conditions.Not, children),
        st.builds(conditions.And, several(children)),
        st.builds(conditions.Or, several(children.filter(no_equality))),
    ),
    max_leaves=8,
)


@given(TREES)
def test_what_is_written_is_read_as_the_same(tree: conditions.Expression) -> None:
    assert conditions.parse_condition(condition_sql(tree)) == tree


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("day >= '2026-01-01'", "`day` >= '2026-01-01'"),
        ("a.`b``c` = 'it''s'", r"`a`.`b``c` = 'it\'s'"),
        ("id IN (1, -2) AND NOT (c IS NULL)", "(`id` IN (1, -2)) AND (NOT (`c` IS NULL))"),
        ("id = 1 OR id = 'x'", "`id` = 1 OR `id` = 'x'"),
        ("d = DATE '2026-01-01'", "`d` = DATE '2026-01-01'"),
        ("CAST(d AS DATE) < 5L", "CAST(`d` AS DATE) < CAST('5' AS BIGINT)"),
        ("n = 1.50BD", "`n` = 1.50BD"),
    ],
)
def test_names_are_quoted_and_texts_escaped(text: str, written: str) -> None:
    assert condition_sql(conditions.parse_condition(text)) == written


@pytest.mark.parametrize(
    "literal",
    [("1 OR 1=1", "number"), ("1); --", "decimal"), ("1", "INT) --"), ("1", None)],
)
def test_a_tree_of_no_text_is_refused(literal: tuple[str, str | None]) -> None:
    constant = conditions.Literal(*literal)
    column = conditions.Column(("a",))
    with pytest.raises(ValueError, match="constants cannot be"):
        condition_sql(conditions.Comparison(conditions.Operator.LESS, column, (constant,)))


@pytest.mark.parametrize("model", [IcebergCompaction, DeltaCompaction])
def test_a_condition_with_a_function_is_the_payloads_fault(
    model: type[IcebergCompaction | DeltaCompaction],
) -> None:
    with pytest.raises(TaskFailed, match=r"'where': not understood from character 8 on") as failed:
        parse(model, {"where": "reflect('java.lang.System', 'getenv', 'X') LIKE 'A%'"})
    assert (failed.value.error_code, failed.value.retryable) == ("INVALID_PAYLOAD", False)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("zorder(a, b.c)", "zorder(`a`, `b`.`c`)"),
        ("a DESC NULLS LAST, `b c`", "`a` DESC NULLS LAST, `b c`"),
        (" ZORDER ( `x,y)` ) ", "zorder(`x,y)`)"),
    ],
)
def test_a_sort_order_is_written_again(text: str, written: str) -> None:
    assert parse(IcebergCompaction, {"sort_order": text}).sort_order == written


@pytest.mark.parametrize(
    "text", ["bucket(4, id)", "reflect('a')", "a; b", "zorder(a DESC)", "a,", "", "a b", "a" * 5000]
)
def test_another_sort_order_is_the_payloads_fault(text: str) -> None:
    with pytest.raises(TaskFailed, match="'sort_order'"):
        parse(IcebergCompaction, {"sort_order": text})


def test_columns_to_cluster_by_are_names() -> None:
    found = parse(DeltaCompaction, {"zorder_by": "a, `b.c`.d"}).zorder_by
    assert found == (("a",), ("b.c", "d"))
    with pytest.raises(TaskFailed, match="'zorder_by'"):
        parse(DeltaCompaction, {"zorder_by": "a) WHERE (reflect('x')"})


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
async def test_over_spark_connect_a_condition_is_refused_before_anything_is_sent(kind: Format) -> None:
    identity = TableIdentity("7", "unknown", ("eu",), "t")
    told = {"where": "1 = reflect('java.lang.System', 'exit', '1')"}
    task = DelegatedTask("t", "TABLE_COMPACTION", "prod", identity, properties=told)
    table = Table(TableName(("eu",), "t"), None, "s3://lake/t", None, {}, kind)
    nowhere = Engine(SparkConfig.model_validate({"remote": "sc://127.0.0.1:1"}))
    with pytest.raises(TaskFailed, match="'where': not understood"):
        await compact(Work(task, TableAccess(table, task), nowhere, RecordedRun(), {}))
