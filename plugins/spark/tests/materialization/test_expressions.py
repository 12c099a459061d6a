from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate_spark.copies.expressions import (
    FUNCTIONS,
    MAX_CHARACTERS,
    MAX_DEPTH,
    columns_in,
    parse_expression,
)
from sluicegate_spark.materialization.expression_sql import expression_sql


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("a", "`a`"),
        ("a.`b ``c`", "`a`.`b ``c`"),
        ("1.50", "1.50"),
        ("-3", "-3"),
        ("null", "NULL"),
        ("'it''s \\' \\\\'", "'it\\'s \\' \\\\'"),
        ("a + b * 2", "(`a` + (`b` * 2))"),
        ("(a + b) * 2", "((`a` + `b`) * 2)"),
        ("a || '-' || b", "((`a` || '-') || `b`)"),
        ("upper(trim(a))", "UPPER(TRIM(`a`))"),
        ("cast(a as date)", "CAST(`a` AS DATE)"),
        ("Substring(a, 1, 2)", "SUBSTRING(`a`, 1, 2)"),
    ],
)
def test_an_expression_is_written_as_new_sql(text: str, sql: str) -> None:
    assert expression_sql(parse_expression(text)) == sql


def test_all_columns_of_an_expression_are_found() -> None:
    found = columns_in(parse_expression("coalesce(a.b, cast(`c d` as int) + 1, upper(e))"))
    assert list(found) == [("a", "b"), ("c d",), ("e",)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "a +",
        "(a",
        "a)",
        "reflect('a')",
        "java_method('a', 'b')",
        "system.upper(a)",
        "upper()",
        "upper(a, b)",
        "cast(a as binary)",
        "(SELECT 1)",
        "a; DROP TABLE b",
        "a -- b",
        "a /* b */",
        "'a",
        "`a",
        "'\\n'",
        "1a",
        "a.1",
        "{a}",
        "$a",
        "(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1),
        "a" * (MAX_CHARACTERS + 1),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not understood|at most|has more than"):
        parse_expression(text)


@given(st.text(alphabet="ab1'`\\().,+*|- \n", max_size=40))
def test_sql_parses_to_the_expression_that_it_was_written_from(text: str) -> None:
    try:
        node = parse_expression(text)
    except ValueError:
        return
    assert parse_expression(expression_sql(node)) == node


def test_no_function_reads_more_than_its_arguments() -> None:
    assert not FUNCTIONS.keys() & {"REFLECT", "JAVA_METHOD", "INPUT_FILE_NAME", "CURRENT_USER", "RAND"}
