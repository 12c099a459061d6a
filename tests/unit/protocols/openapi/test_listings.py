"""Listings are described as the gateway sends them, with the names that it accepts."""

from __future__ import annotations

from typing import Any

import pytest
from support.clients.described import SCHEMAS, fits, fitting

from sluicegate.api import Schema, Share, SharedTable
from sluicegate.database.names import NamedKind, check_name
from sluicegate.protocols.common.pagination import Page
from sluicegate.protocols.delta_sharing import listings as sent

ID = "7b1c8c0e-9d3f-4b7e-8a54-3c2f1f0f6a11"
SHARE = Share(ID, "sales", "Sales", "all of it", {"owner": "eu"})
TABLE = SharedTable(ID, "sales", ID, "eu", "orders", "main", "eu.orders")
ITEMS = {
    "Share": sent.share(SHARE),
    "Schema": sent.schema(Schema(ID, SHARE, "eu")),
    "Table": sent.table(TABLE),
}
WITHOUT = [(kind, member) for kind, item in ITEMS.items() for member in item]


@pytest.mark.parametrize("kind", ITEMS)
def test_items_and_pages_fit_as_they_are_sent(kind: str) -> None:
    assert fits(kind, ITEMS[kind])
    assert fits(f"{kind}Page", Page([ITEMS[kind]], "token").shown(lambda item: item))
    assert fits(f"{kind}Page", Page([], None).shown(lambda item: item))
    assert not fits(f"{kind}Page", {"items": [{}]})
    assert not fits(f"{kind}Page", {"items": [], "nextPageToken": None})


@pytest.mark.parametrize(("kind", "member"), WITHOUT)
def test_only_what_can_be_missing_is_optional(kind: str, member: str) -> None:
    left = {key: value for key, value in ITEMS[kind].items() if key != member}
    assert fits(kind, left) is (member in ("displayName", "comment", "properties"))


def test_details_name_the_format_or_contain_the_share() -> None:
    assert fits("TableDetails", {**ITEMS["Table"], "format": "delta,parquet"})
    assert not fits("TableDetails", ITEMS["Table"])
    assert fits("ShareDetails", {"share": ITEMS["Share"]})
    assert not fits("ShareDetails", ITEMS["Share"])


@pytest.mark.parametrize("kind", ["share", "schema", "table"])
@pytest.mark.parametrize(
    "value",
    ["a", "a" * 255, "a" * 256, "", "a.b", "a b", "a/b", "ä", "\u65e5", "a\n", "a\x7f", "%2F", "a-_+"],
)
def test_the_described_names_are_those_that_can_be_stored(kind: NamedKind, value: str) -> None:
    """An earlier version can have stored names that are no longer allowed."""
    is_stored = is_allowed("entry", value) and (kind == "share" or "." not in value)
    assert fitting(SCHEMAS[kind.title()]["properties"]["name"]).is_valid(value) is is_stored
    assert is_stored or not is_allowed(kind, value)


def is_allowed(kind: NamedKind, value: str) -> bool:
    try:
        check_name(kind, value)
    except ValueError:
        return False
    return True


def test_an_id_is_a_uuid() -> None:
    for kind in ITEMS:
        identity = fitting(SCHEMAS[kind]["properties"]["id"])
        assert identity.is_valid(ID)
        assert not identity.is_valid("1")


@pytest.mark.parametrize(
    ("members", "valid"),
    [
        ({}, True),
        ({"accessModes": ["url", "dir"], "location": "s3://lake/t", "auxiliaryLocations": []}, True),
        ({"accessModes": ["url", "all"]}, False),
        ({"auxiliaryLocations": "s3://lake/t"}, False),
    ],
)
def test_members_for_directory_access(members: dict[str, Any], valid: bool) -> None:
    assert fits("Table", {**ITEMS["Table"], **members}) is valid
