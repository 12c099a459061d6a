"""The rules of the Delta Sharing protocol, "Names"."""

from __future__ import annotations

import pytest

from sluicegate.database.names import NamedKind, check_name, name_key


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("share", "sales"),
        ("share", "sales-eu"),
        ("entry", "sales.eu"),
        ("recipient", "acme@example.com"),
        ("schema", "a" * 255),
        ("table", "größe-№1_~!&+"),
        ("table", "日本"),
        ("table", "non\u00a0breaking"),
    ],
)
def test_names_that_are_allowed(kind: NamedKind, name: str) -> None:
    assert check_name(kind, name) == name


@pytest.mark.parametrize(
    ("kind", "name", "problem"),
    [
        ("share", "", "cannot be empty"),
        ("share", "a" * 256, r"cannot be longer than 255 characters \(this one has 256\)"),
        ("share", "a b", "cannot contain a space"),
        ("share", "a/b", "cannot contain a slash"),
        ("share", "a\tb", "cannot contain a control character"),
        ("share", "a\x00", "cannot contain a control character"),
        ("share", "\x1f", "cannot contain a control character"),
        ("share", "a\x7f", "cannot contain the DELETE character"),
        ("recipient", "..", r"cannot be '\.\.'"),
        ("recipient", "a\ud800", "cannot contain half of a surrogate pair"),
        ("schema", "a.b", "cannot contain a period"),
        ("table", "a.b", "cannot contain a period"),
        ("share", "a.b", "cannot contain a period"),
        ("table", "%41", "cannot contain a percent sign"),
        ("schema", "a?b", "cannot contain a question mark"),
        ("share", "a#b", "cannot contain a number sign"),
        ("volume", "50%", "cannot contain a percent sign"),
    ],
)
def test_names_that_are_refused(kind: NamedKind, name: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"a {kind}'s name {problem}"):
        check_name(kind, name)


@pytest.mark.parametrize(("one", "other"), [("Sales", "sALES"), ("GRÖSSE", "größe")])
def test_names_are_case_insensitive(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)
