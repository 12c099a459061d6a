from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.api import Principal, UnsupportedOperation
from sluicegate_s3.vending.bindings import session_name, session_tags


def named(name: str, **properties: str) -> Principal:
    return Principal("r-1", name, "test", properties=properties)


@pytest.mark.parametrize("name", ["acme", "acme.eu-1", "sales@acme.example", "a" * 64, "A_b,c+d"])
def test_a_name_that_fits_is_the_sessions(name: str) -> None:
    assert session_name(named(name)) == name


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("Acme & Söhne", "Acme___S_hne="),
        ("a", "a="),
        ("", "="),
        ("a" * 65, "a" * 47 + "="),
        ("acme=0123456789abcdef", "acme_0123456789abcdef="),
    ],
)
def test_any_other_is_sanitised_and_distinguished_by_a_digest(name: str, begins: str) -> None:
    assert re.fullmatch(f"{re.escape(begins)}[0-9a-f]{{16}}", session_name(named(name)))


def test_the_gateways_own_sessions_share_no_recipients_name() -> None:
    assert session_name(named("sluicegate"), "sluicegate").startswith("sluicegate=")


@given(st.lists(st.text(max_size=80), min_size=2, max_size=20, unique=True))
def test_no_two_recipients_share_a_session_name(names: list[str]) -> None:
    given = [session_name(named(name)) for name in names]

    assert len(set(given)) == len(names)
    assert all(re.fullmatch(r"[\w+=,.@-]{2,64}", each, re.ASCII) for each in given)


def test_tags_say_what_the_configuration_chooses() -> None:
    sources = {
        "recipient": "name",
        "id": "id",
        "country": "properties.country",
        "tier": "properties.x",
    }

    tags = session_tags(named("acme", country="DE"), sources)

    assert {tag["Key"]: tag["Value"] for tag in tags} == {
        "recipient": "acme",
        "id": "r-1",
        "country": "DE",
    }


@pytest.mark.parametrize("value", ["a;b", "x" * 257, "a*", "tab\x00"])
def test_a_value_that_no_tag_holds_is_refused_and_not_altered(value: str) -> None:
    with pytest.raises(UnsupportedOperation, match="country"):
        session_tags(named("acme", country=value), {"country": "properties.country"})
