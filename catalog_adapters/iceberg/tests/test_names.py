from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate_iceberg.names import TableName, joined, parse_levels, segment, servable


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        (("eu",), "eu"),
        (("eu", "north"), "eu.north"),
        (("eu.north",), "eu%2Enorth"),
        (("100%",), "100%25"),
        (("%2E",), "%252E"),
        (("two words", "größe"), "two words.größe"),
    ],
)
def test_a_name_has_one_text(levels: tuple[str, ...], text: str) -> None:
    assert joined(levels) == text
    assert parse_levels(text) == levels


@given(st.lists(st.text(min_size=1).filter(servable), min_size=1, max_size=4))
def test_every_name_comes_back(levels: list[str]) -> None:
    assert parse_levels(joined(levels)) == tuple(levels)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("50%", ("50%",)),
        ("a%20b", ("a%20b",)),
        ("a%2eb", ("a.b",)),
    ],
)
def test_what_needs_no_escape_may_be_written_plainly(written: str, meant: tuple[str, ...]) -> None:
    assert parse_levels(written) == meant


@pytest.mark.parametrize(
    "text", ["", ".", "..", "eu.", ".eu", "a..b", "%2E", "%2E%2E", "a\x1fb", "a\0"]
)
def test_impossible_names_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a name is empty"):
        parse_levels(text)


def test_a_table_needs_a_namespace() -> None:
    assert TableName.parse("eu.north.orders") == TableName(("eu", "north"), "orders")
    with pytest.raises(ValueError, match="must contain a namespace"):
        TableName.parse("orders")


@pytest.mark.parametrize(
    ("levels", "separator", "sent"),
    [
        (("eu", "north"), "%1F", "eu%1Fnorth"),
        (("a/b", "c d"), "%1F", "a%2Fb%1Fc%20d"),
        (("50%", "größe"), "%2E", "50%25%2Egr%C3%B6%C3%9Fe"),
        (("a+b",), "%1F", "a%2Bb"),
    ],
)
def test_a_name_is_one_segment_of_a_path(levels: tuple[str, ...], separator: str, sent: str) -> None:
    assert segment(levels, separator) == sent
