"""Conditions that are carried out: everything in them is understood, or they are refused."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.api import InvalidRequest, conditions


def equal(name: str, *literals: tuple[str, str]) -> conditions.Expression:
    constants = tuple(conditions.Literal(text, kind) for text, kind in literals)
    return conditions.Comparison(conditions.Operator.EQUAL, conditions.Column((name,)), constants)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("id = 1", equal("id", ("1", "number"))),
        ("1 = id", equal("id", ("1", "number"))),
        ("id IN (1, 2)", equal("id", ("1", "number"), ("2", "number"))),
        (r"a = '\\'", equal("a", ("\\", "quoted"))),
        (r"a = '\''", equal("a", ("'", "quoted"))),
        (r"a = 'it''s \\''s'", equal("a", ("it's \\'s", "quoted"))),
        ("a = '/* -- \"; ${x} `'", equal("a", ('/* -- "; ${x} `', "quoted"))),
        ("`reflect('x')` = 1", equal("reflect('x')", ("1", "number"))),
        ("NOT a IS NULL", conditions.Not(conditions.IsNull(conditions.Column(("a",))))),
        ("true", conditions.TRUE),
    ],
)
def test_understood(text: str, tree: conditions.Expression) -> None:
    assert conditions.parse_condition(text) == tree


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("reflect('java.lang.System', 'getenv', 'X') LIKE 'A%'", "from character 8 on"),
        ("id = 1 OR java_method('a', 'b') = 'c'", "from character 22 on"),
        ("id = current_user()", "from character 6 on"),  # a column
        ("id LIKE 'a%'", "from character 4 on"),
        ("id = (SELECT 1)", "from character 7 on"),
        ("id = 1; DROP TABLE x", "from character 7 on"),
        ("id = 1 -- and no more", "from character 8 on"),
        ("id = 1 /* */", "from character 8 on"),
        ("id = 1 ZORDER BY (id)", "from character 8 on"),
        ('city = "Bern"', "from character 8 on"),
        (r"a = '\u0041'", "from character 5 on"),
        (r"a = '\\\'", "from character 5 on"),
        ("a = X'41'", "from character 5 on"),
        ("a + 1 = 2", "from character 3 on"),
        ("a = b", "a comparison is one of a column with a constant"),
        ("1 = 1", "a comparison is one of a column with a constant"),
        ("a <=> b", "a comparison is one of a column with a constant"),
        ("a = ${b}", "from character 5 on"),
        ("CAST(a AS MAP<STRING, INT>) = 1", "from character"),
        ("CAST('yes' AS BOOLEAN)", "from character"),
        ("a = \u0661", "from character 5 on"),
        ("a =", "at its end"),
        ("", "at its end"),
        ("(" * 33 + "a = 1" + ")" * 33, "more than 32 nested parentheses"),
        (" OR ".join(f"c{number} = 1" for number in range(1001)), "has 1,001 terms"),
        ("a = 1" + " " * (1 << 14), "has 16,389 characters"),
    ],
)
def test_everything_else_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        conditions.parse_condition(text)
    assert place in refused.value.message
    assert len(refused.value.message) < 500


@pytest.mark.parametrize(
    "text",
    [
        "(" * 16_000,
        "NOT " * 4000,
        "a IN (" + "1," * 8000,
        "'" * 16_001,
        "`" * 16_001,
        " " * 16_000 + "?",
    ],
)
def test_hostile_sizes_are_read_in_linear_time(text: str) -> None:
    before = time.process_time()
    with pytest.raises(InvalidRequest):
        conditions.parse_condition(text)
    assert time.process_time() - before < 2


@given(st.text(max_size=60))
def test_any_text_is_a_tree_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidRequest):
        conditions.parse_condition(text)
