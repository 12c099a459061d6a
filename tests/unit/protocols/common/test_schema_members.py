"""The ids of items of schemas that are shared entirely."""

from __future__ import annotations

from dataclasses import replace

from sluicegate.api import ListedTable, Schema, Share
from sluicegate.protocols.common.schema_members import member_id

SCHEMA = Schema("e", Share("s1", "sales"), "europe")
ORDERS = ListedTable("orders", id="c1")


def test_a_renamed_item_keeps_its_id() -> None:
    assert member_id(SCHEMA, ORDERS) == member_id(SCHEMA, replace(ORDERS, name="purchases"))


def test_an_item_that_was_created_again_has_another_id() -> None:
    assert member_id(SCHEMA, ORDERS) != member_id(SCHEMA, replace(ORDERS, id="c2"))


def test_items_without_an_id_are_distinguished_by_their_names() -> None:
    unknown = replace(ORDERS, id=None)
    ids = {member_id(SCHEMA, each) for each in (unknown, replace(unknown, name="c1"), ORDERS)}
    assert len(ids) == 3
    assert member_id(SCHEMA, unknown) == member_id(SCHEMA, replace(unknown))


def test_items_of_other_schemas_and_kinds_have_other_ids() -> None:
    other = replace(SCHEMA, id="other")
    assert len({member_id(SCHEMA, ORDERS, kind) for kind in ("", "volume", "model")}) == 3
    assert member_id(SCHEMA, ORDERS) != member_id(other, ORDERS)
