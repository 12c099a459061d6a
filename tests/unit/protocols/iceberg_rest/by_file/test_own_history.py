from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from support.gateways.memory_gateway import shared_table
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import iceberg_view
from support.tables.memory_tables import file, snapshot

from sluicegate.protocols.iceberg_rest.by_file.own_history import hidden_specs, references
from sluicegate.protocols.iceberg_rest.view import IcebergView, snapshot_id
from sluicegate.tables.declaration import IcebergDeclaration
from sluicegate.tables.iceberg.shape import OwnMetadata, Spec, SpecField

BY_ID = (SpecField(1000, 1, "id", "identity", "long"),)
OWN = OwnMetadata(0, (), (Spec(0, ()), *(Spec(number, BY_ID) for number in (1, 2, 3))), 3)
REFS = {"main": (4, False), "v1": (2, True), "audit": (3, False), "gone": (1, True)}
METADATA = replace(
    table_metadata([schema_field("id", "long")]), iceberg=IcebergDeclaration("{}", refs=REFS)
)


async def view_of(**shared: Any) -> IcebergView:
    """A table with one file, in spec 1."""
    text = orjson.dumps({"spec-id": "1", "=1": "7"}).decode()
    view = await iceberg_view(
        METADATA,
        snapshot(file("a", partition_values=text)).files,
        shared=replace(shared_table(), **shared),
    )
    return replace(view, shape=replace(view.shape, own=OWN))


async def test_specs_that_only_former_versions_used_are_part_of_the_history() -> None:
    assert hidden_specs(await view_of(history=False)) == {2}
    assert hidden_specs(await view_of(history=True)) == set()


async def test_a_delta_table_has_no_specs_of_its_own() -> None:
    view = await view_of(history=False)
    assert hidden_specs(replace(view, shape=replace(view.shape, own=None))) == set()


async def test_names_of_listed_snapshots_are_visible() -> None:
    listed = {snapshot_id(version) for version in (2, 3, 4)}
    assert references(await view_of(history=True), listed) == {
        "v1": {"snapshot-id": snapshot_id(2), "type": "tag"},
        "audit": {"snapshot-id": snapshot_id(3), "type": "branch"},
    }


@pytest.mark.parametrize(
    "shared",
    [
        {"history": False},
        {"history": True, "ref": "v1"},
        {"history": True, "start_version": 1},
        {"history": True, "partition_filter": {"id": "7"}},
    ],
    ids=lambda shared: max(shared, key=len),
)
async def test_a_table_that_is_shared_in_part_shows_no_names(shared: dict[str, Any]) -> None:
    listed = {snapshot_id(version) for version in range(5)}
    assert references(await view_of(**shared), listed) == {}
