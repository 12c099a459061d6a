"""The helpers for JSON Schema accept and reject what they say."""

from __future__ import annotations

from typing import Any

import pytest
from support.clients.described import fitting

from sluicegate.protocols.openapi.schemas import (
    INT32_MAX,
    INT64_MAX,
    Schema,
    choice,
    flag,
    instant,
    many,
    mapping,
    only,
    record,
    schema_ref,
    text,
    whole,
)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        (text("A name.", maxLength=2), ["", "ab"], ["abc", 1, None]),
        (choice("A color.", "red", "blue"), ["red", "blue"], ["", "RED", None]),
        (whole("A count."), [0, INT64_MAX], [-1, INT64_MAX + 1, 1.5, "1", True]),
        (whole("A size.", 1, 10), [1, 10], [0, 11]),
        (flag("Whether."), [True, False], ["true", 0, None]),
        (instant("When."), ["2022-01-01T00:00:00Z", "2022-01-01T00:00:00+02:00"], ["yesterday", 5]),
        (many(text("One."), "Some.", minItems=1), [["a"], ["a", "b"]], [[], [1], "a", {}]),
        (mapping(text("A value."), "Some."), [{}, {"any": "a"}], [{"any": 1}, []]),
        (
            record("A.", {"a": text("")}, {"b": whole("")}),
            [{"a": ""}, {"a": "", "c": 1}],
            [{}, {"a": 1}],
        ),
        (record("A.", {}, {"b": whole("")}), [{}, {"b": 0}], [{"b": ""}, []]),
        (record("A.", {}), [{}, {"c": 1}], [None]),
        (only("a", text("")), [{"a": ""}], [{}, {"a": "", "b": 1}, {"a": 1}]),
    ],
)
def test_values(schema: Schema, valid: list[Any], invalid: list[Any]) -> None:
    validator = fitting(schema)
    assert [validator.is_valid(each) for each in valid] == [True] * len(valid)
    assert [validator.is_valid(each) for each in invalid] == [False] * len(invalid)


@pytest.mark.parametrize(("high", "kind"), [(INT32_MAX, "int32"), (INT32_MAX + 1, "int64")])
def test_the_format_of_an_integer_is_the_smallest_for_its_limit(high: int, kind: str) -> None:
    assert whole("A count.", 0, high)["format"] == kind


@pytest.mark.parametrize("make", [text, choice, whole, flag])
def test_the_description_is_for_readers(make: Any) -> None:
    assert make("What it is.")["description"] == "What it is."


def test_a_time_says_how_it_is_written() -> None:
    assert instant("The start.")["description"].startswith("The start. ISO 8601 with an offset")


def test_a_record_without_required_members_lists_none() -> None:
    assert "required" not in record("A.", {}, {"a": text("")})


def test_a_reference_leads_to_the_documents_schemas() -> None:
    assert schema_ref("Table") == {"$ref": "#/components/schemas/Table"}
