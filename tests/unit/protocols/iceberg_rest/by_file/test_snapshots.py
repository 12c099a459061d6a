"""Which versions the metadata of a shared table lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from support.gateways.memory_gateway import memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import Prefixed, iceberg_shape, iceberg_view
from support.tables.memory_tables import MemoryFormat, file, snapshot, time_of

from sluicegate.api import SharedTable, UnsupportedOperation
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.by_file.snapshots import (
    ListedVersions,
    SnapshotList,
    hidden_specs,
    references,
)
from sluicegate.protocols.iceberg_rest.by_file.viewer import IcebergViewer
from sluicegate.protocols.iceberg_rest.planning import specs
from sluicegate.protocols.iceberg_rest.view import IcebergView, ViewPaths, snapshot_id
from sluicegate.tables.declaration import IcebergDeclaration
from sluicegate.tables.iceberg.metadata import ListedSnapshot
from sluicegate.tables.iceberg.shape import (
    Field,
    IcebergShape,
    OwnMetadata,
    PartitionField,
    Spec,
    SpecField,
    Struct,
    Type,
)
from sluicegate.tables.snapshot import TableMetadata
from sluicegate.tables.versions import DescribedVersion

COLUMNS = [schema_field("id", "long"), schema_field("day", "string")]
BY_DAY, PLAIN = table_metadata(COLUMNS, ["day"]), table_metadata(COLUMNS)


class Served:
    """A table with one version for each metadata."""

    def __init__(self, *metadata: TableMetadata, limit: int = 100, **shared: Any) -> None:
        rows = [file("a", partition_values='{"day":"a"}')]
        versions = [
            snapshot(*rows, version=number, metadata=each) for number, each in enumerate(metadata)
        ]
        self.shared: SharedTable = shared_table(**shared)
        gateway = memory_gateway(self.shared, format=MemoryFormat(versions))
        self.shaped: list[int] = []
        self.obstacle: int | None = None
        self._viewer = IcebergViewer(gateway.resolver, gateway.reader, self._shape, _paths, 60)
        self._versions = ListedVersions(gateway.reader, self._shape, _paths, limit)

    async def listed(self, *, latest_only: bool = False) -> list[ListedSnapshot]:
        view = await self._viewer.latest(ACME, self.shared)
        self.shaped.clear()
        versions = self._versions
        found = versions.latest(view) if latest_only else await versions.all(view)
        return list(found.snapshots)

    async def ids(self, *, latest_only: bool = False) -> list[int]:
        return [each.id for each in await self.listed(latest_only=latest_only)]

    async def _shape(self, table: OpenTable, version: DescribedVersion) -> IcebergShape:
        self.shaped.append(version.version)
        if version.version == self.obstacle:
            raise UnsupportedOperation("no")
        return iceberg_shape(version.metadata)


def _paths(table: OpenTable, version: int, issued: int | None) -> ViewPaths:
    return Prefixed()


async def test_all_versions_are_listed_if_the_history_is_shared() -> None:
    found = await Served(PLAIN, PLAIN, PLAIN, history=True).listed()
    assert [(each.id, each.timestamp) for each in found] == [
        (1, time_of(0)), (2, time_of(1)), (3, time_of(2)),
    ]  # fmt: skip
    assert found[0].manifest_list.endswith("~/manifest-list.avro")


async def test_only_the_latest_version_is_listed_without_history() -> None:
    served = Served(PLAIN, PLAIN)
    assert await served.ids() == [2]
    assert served.shaped == []


async def test_clients_can_request_only_the_latest_version() -> None:
    assert await Served(PLAIN, PLAIN, history=True).ids(latest_only=True) == [2]


async def test_no_version_before_the_first_shared_one_is_listed() -> None:
    assert await Served(PLAIN, PLAIN, PLAIN, history=True, start_version=1).ids() == [2, 3]


@pytest.mark.parametrize(("limit", "expected"), [(1, [3]), (2, [2, 3]), (3, [1, 2, 3])])
async def test_the_number_of_snapshots_is_limited(limit: int, expected: list[int]) -> None:
    assert await Served(PLAIN, PLAIN, PLAIN, history=True, limit=limit).ids() == expected


async def test_versions_that_are_not_partitioned_by_the_filters_column_are_not_listed() -> None:
    served = Served(BY_DAY, PLAIN, BY_DAY, history=True, partition_filter="day = 'a'")
    assert await served.ids() == [1, 3]


async def test_versions_that_iceberg_cannot_express_are_not_listed() -> None:
    served = Served(PLAIN, BY_DAY, PLAIN, history=True)
    served.obstacle = 1
    assert await served.ids() == [1, 3]


async def test_versions_of_the_same_metadata_are_expressed_once_in_ascending_order() -> None:
    served = Served(PLAIN, PLAIN, BY_DAY, BY_DAY, PLAIN, history=True)
    assert await served.ids() == [1, 2, 3, 4, 5]
    assert served.shaped == [0, 2]


ID, DAY = Field(1, "id", "long", "id"), Field(2, "day", "date", "day")


def shape(*fields: Field, by: tuple[Field, ...] = ()) -> IcebergShape:
    parts = tuple(PartitionField(1000 + each.id, each, each.physical_name) for each in by)
    return IcebergShape(Struct(fields), parts, 9, 2)


def column(id_: int, name: str, type_: Type = "long") -> Field:
    return Field(id_, name, type_, name)


def listed(*newest_first: IcebergShape, times: tuple[int, ...] = ()) -> list[int]:
    """Ids of the listed snapshots, which count down from 9."""
    return [each.id for each in listing(*newest_first, times=times).snapshots]


def listing(*newest_first: IcebergShape, times: tuple[int, ...] = ()) -> SnapshotList:
    snapshots = [
        ListedSnapshot(9 - place, (times or (0,) * 9)[place], each, "")
        for place, each in enumerate(newest_first)
    ]
    made = SnapshotList(snapshots[0])
    for each in snapshots[1:]:
        made.add_earlier(each)
    return made


def test_snapshots_are_in_ascending_order() -> None:
    assert listed(shape(ID), shape(ID), shape(ID, DAY)) == [7, 8, 9]


def test_a_snapshot_is_left_out_if_a_name_has_another_id_in_a_later_one() -> None:
    assert listed(shape(ID, column(3, "x")), shape(ID), shape(ID, column(2, "x"))) == [8, 9]


def test_names_of_snapshots_that_are_not_the_latest_count() -> None:
    assert listed(shape(ID), shape(column(3, "x")), shape(column(2, "x")), shape(ID)) == [6, 8, 9]


def test_names_in_different_columns_have_nothing_to_do_with_one_another() -> None:
    first, second = (Struct((column(each, "x"),)) for each in (5, 6))
    assert listed(shape(column(3, "a", first)), shape(column(4, "b", second))) == [8, 9]
    assert listed(shape(column(3, "a", first)), shape(column(3, "a", second))) == [9]


def test_a_renamed_column_keeps_its_name_in_files() -> None:
    renamed = Field(1, "number", "long", "id")
    assert listed(shape(renamed), shape(ID)) == [8, 9]


def test_each_partitioning_has_its_specs() -> None:
    both = listing(shape(ID, DAY), shape(ID, DAY, by=(DAY,)), shape(ID, DAY, by=(ID, DAY)))
    assert [each.id for each in both.snapshots] == [7, 8, 9]
    assert [len(each["fields"]) for each in both.specs] == [0, 1, 0, 2, 1, 1, 0]
    assert both.specs[0]["spec-id"] == 0


def test_partition_columns_must_be_in_the_current_schema() -> None:
    assert listed(shape(ID), shape(ID, DAY, by=(DAY,))) == [9]
    widened = Field(1, "id", "long", "id"), Field(1, "id", "int", "id")
    assert listed(shape(widened[0]), shape(widened[1], by=(widened[1],))) == [9]


def test_specs_with_the_same_id_are_not_mixed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specs, "_first", lambda shape: 0)
    assert listed(shape(ID, DAY, by=(ID,)), shape(ID, DAY, by=(DAY,))) == [9]


def test_no_snapshot_is_later_than_the_next_one() -> None:
    found = listing(shape(ID), shape(ID), shape(ID), times=(5, 9, 4)).snapshots
    assert [each.timestamp for each in found] == [4, 5, 5]


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
