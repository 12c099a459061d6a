"""The JSON of shares, schemas and tables in listings."""

from __future__ import annotations

from sluicegate.api import Schema, Share, SharedTable
from sluicegate.protocols.delta_sharing import listings


def test_a_share_has_its_optional_members_only_if_they_are_declared() -> None:
    assert listings.share(Share("s1", "sales")) == {"name": "sales", "id": "s1"}
    full = Share("s1", "sales", display_name="Sales", comment="of 2024", properties={"team": "eu"})
    assert listings.share(full) == {
        "name": "sales",
        "id": "s1",
        "displayName": "Sales",
        "comment": "of 2024",
        "properties": {"team": "eu"},
    }


def test_a_schema_names_its_share() -> None:
    assert listings.schema(Schema("x1", Share("s1", "sales"), "eu", comment="private")) == {
        "name": "eu",
        "share": "sales",
        "id": "x1",
    }


def test_a_table_is_listed_without_its_place_in_the_catalog() -> None:
    table = SharedTable("t1", "sales", "s1", "eu", "orders", "main", "raw.orders_v2", comment="private")
    assert listings.table(table) == {
        "name": "orders",
        "schema": "eu",
        "share": "sales",
        "shareId": "s1",
        "id": "t1",
    }
