"""SQL predicates: what is understood, and that the rest is ignored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables.filesets import file_set, kept, schema_field, table_metadata

METADATA = table_metadata(
    [
        schema_field("col", "integer"),
        schema_field("name", "string"),
        schema_field("a b", "string"),
        schema_field("date", "date"),
    ],
    ["col", "name", "a b", "date"],
)
FILES = file_set(
    [
        ('{"col": "-5", "name": "foo", "a b": "x", "date": "2021-04-28"}', None),
        ('{"col": "123", "name": "it\'s", "a b": "y", "date": "2021-04-29"}', None),
        ('{"col": null, "name": "", "a b": null, "date": null}', None),
    ]
)
ALL = {0, 1, 2}


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        # The table of the protocol.
        ("col = 123", {1}),
        ("name > 'foo'", {1}),
        ("'foo' < name", {1}),
        ("col >= 123", {1}),
        ("123 <= col", {1}),
        ("name <> 'foo'", {1}),
        ("col IS NULL", {2}),
        ("col IS NOT NULL", {0, 1}),
        # Spellings.
        ("col==123", {1}),
        ("col != 123", {0}),
        ("  COL  =  123  ", {1}),
        ("(col = 123)", {1}),
        ("((col)) = (123)", {1}),
        ("col = -5", {0}),
        ("col = - 5", {0}),
        ("col = +123", {1}),
        ("col = 123L", {1}),
        ("col = 1.23e2", {1}),
        ("col = 123.", {1}),
        ("name = 'it''s'", {1}),
        ("`name` = 'foo'", {0}),
        ("`a b` = 'y'", {1}),
        ("date = '2021-04-29'", {1}),
        ("date = DATE '2021-04-29'", {1}),
        ("date = CAST('2021-04-29' AS DATE)", {1}),
        ("(CAST(partitionValues.`date` AS DATE) = DATE '2021-04-29')", {1}),
        ("CAST(partitionvalues.col AS INT) > 0", {1}),
        # Junctions.
        ("col = 123 or col is null", {1, 2}),
        ("col = -5 OR col = 123 AND name = 'foo'", {0}),
        ("(col = -5 OR col = 123) AND name = 'foo'", {0}),
        ("NOT col = 123", {0}),
        ("NOT col = 123 AND name = 'foo'", {0}),
        ("NOT (col = 123 AND name = 'foo')", {0, 1}),
        ("col IN (123, 7)", {1}),
        ("col NOT IN (123, 7)", {0}),
        ("col BETWEEN 0 AND 200 AND name <> 'foo'", {1}),
        ("col NOT BETWEEN 0 AND 200", {0}),
        ("col <=> 123", {1}),
        ("NOT (col <=> 123)", {0, 2}),
        ("NULL <=> col", {2}),
        ("col = NULL", set()),
        ("NULL", set()),
        ("TRUE", ALL),
        ("FALSE", set()),
        ("NOT FALSE AND col = 123", {1}),
        ("5 IS NULL", set()),
        ("NOT " * 1001 + "col = 123", {0}),
        ("(" * 100 + "col = 123" + ")" * 100, {1}),
    ],
)
def test_understood(hint: str, expected: set[int]) -> None:
    assert kept(FILES, METADATA, hint) == expected


@pytest.mark.parametrize(
    "hint",
    [
        "",
        "col",
        "col =",
        "= 123",
        "col = 123 456",
        "col = 123 AND",
        "col = 123abc",
        "col = 0x7B",
        "col = 123 # comment",
        "col LIKE '1%'",
        "name LIKE 'f%'",
        "name = \"foo\"",
        r"name = 'fo\'o'",
        "name = 'fo",
        "`name = 'foo'",
        "unknown = 5",
        "col.x = 5",
        "partitionValues.unknown = 5",
        "col + 1 = 5",
        "abs(col) = 5",
        "col = 5; DROP TABLE x",
        "col NOT 5",
        "col IN ()",
        "col IN (1",
        "col IS TRUE",
        "CAST(col AS STRUCT<a: INT>) = 5",
        "CAST(col AS DECIMAL(3, 1)) = 5",
        "CAST(name AS INT) = 5",
        "name = 5",
        "(col = 5) = TRUE",
        "(col = 5) IS NULL",
        "col = name",
        "CASE WHEN col = 5 THEN 1 END = 1",
        "(" * 101 + "col = 5" + ")" * 101,
        "(" * 30_000,
        "col = 5" + " " * (1 << 16),
    ],
)  # fmt: skip
def test_not_understood_and_so_ignored(hint: str) -> None:
    assert kept(FILES, METADATA, hint) == ALL


def test_each_hint_stands_for_itself() -> None:
    assert kept(FILES, METADATA, "col > 0", "gibberish gibberish", "name = 'it''s'") == {1}


NAMES = ["col", "name", "`a b`", "date", "partitionValues"]
SYMBOLS = ["=", "<", ">=", "<>", "(", ")", ",", "-", "."]
KEYWORDS = ["AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "TRUE", "CAST", "AS", "INT", "DATE"]
WORDS = [*NAMES, *SYMBOLS, *KEYWORDS, "5", "'x'", "1.5"]


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text())
def test_no_text_is_an_error(hint: str) -> None:
    assert kept(FILES, METADATA, hint) <= ALL
