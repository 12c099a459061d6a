"""Views of shared tables: which version and which files a recipient sees, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.gateways.memory_gateway import MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import Prefixed, iceberg_shape
from support.tables.memory_tables import MemoryFormat, file, snapshot, time_of

from sluicegate.api import (
    InvalidRequest,
    PermissionDenied,
    Principal,
    SharedTable,
    SluicegateError,
    UnsupportedOperation,
)
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.by_file.viewer import IcebergViewer
from sluicegate.protocols.iceberg_rest.errors import NoSuchTable
from sluicegate.protocols.iceberg_rest.view import TableView, ViewPaths, snapshot_id, version_of
from sluicegate.tables.iceberg.shape import IcebergShape
from sluicegate.tables.versions import DescribedVersion

LATEST = 5
GRACE = 2  # seconds, and a version is committed each second
BY_DAY = table_metadata([schema_field("id", "long"), schema_field("day", "string")], ["day"])
HISTORY = shared_table(history=True)


class Served:
    """A table with the versions 0 to 5, each with one file more for each of two days.

    Attributes:
        now: Seconds since the epoch: that of the latest version.
    """

    def __init__(self, shared: SharedTable, principal: Principal = ACME) -> None:
        versions = [
            snapshot(*(_row(f"{day}{part}", day) for part in range(each + 1) for day in "ab"),
                     version=each, metadata=BY_DAY)
            for each in range(LATEST + 1)
        ]  # fmt: skip
        self.shared, self.principal = shared, principal
        self.gateway: MemoryGateway = memory_gateway(shared, format=MemoryFormat(versions))
        self.now = time_of(LATEST) / 1000
        self.named: list[tuple[int, int | None]] = []
        self.obstacle: UnsupportedOperation | None = None
        self.viewer = IcebergViewer(
            self.gateway.resolver,
            self.gateway.reader,
            self._shape,
            self._paths,
            GRACE,
            lambda: self.now,
        )

    async def _shape(self, table: OpenTable, read: DescribedVersion) -> IcebergShape:
        if self.obstacle is not None:
            raise self.obstacle
        return iceberg_shape(read.metadata)

    def _paths(self, table: OpenTable, version: int, issued: int | None) -> ViewPaths:
        self.named.append((version, issued))
        return Prefixed()

    async def latest(self) -> TableView:
        return await self.viewer.latest(self.principal, self.shared)

    async def planned(self, id_: int, start: int | None = None) -> TableView:
        return await self.viewer.planned(self.principal, self.shared, id_, start)


def _row(path: str, day: str) -> dict[str, Any]:
    return file(path, partition_values=f'{{"day":"{day}"}}')


def paths_of(view: TableView) -> list[str]:
    files = view.in_memory().files
    return sorted(each for batch in files.batches(100) for each in batch.column("path").to_pylist())


def test_snapshot_ids_are_positive() -> None:
    assert [snapshot_id(version) for version in (0, 41)] == [1, 42]
    assert [version_of(snapshot_id(version)) for version in (0, 41)] == [0, 41]


async def test_the_latest_version_is_seen_without_history() -> None:
    served = Served(shared_table())
    view = await served.latest()
    assert (view.snapshot.version, view.table.shared, len(view.files)) == (LATEST, served.shared, 12)
    assert view.shape == iceberg_shape(BY_DAY)
    assert served.named == [(LATEST, None)]


async def test_a_known_location_is_not_looked_up_again() -> None:
    served = Served(shared_table())
    source = served.gateway.catalog["orders"]
    served.gateway.catalog.clear()
    view = await served.viewer.latest(ACME, served.shared, source)
    assert view.table.source == source


@pytest.mark.parametrize("id_", [1, 3, 6])
async def test_versions_are_seen_with_history(id_: int) -> None:
    served = Served(HISTORY)
    view = await served.planned(id_)
    assert (view.snapshot.version, len(view.files)) == (id_ - 1, 2 * id_)
    assert served.named == [(id_ - 1, None)]


@pytest.mark.parametrize("id_", [7, 8, 1 << 62])
@pytest.mark.parametrize("history", [True, False])
async def test_a_snapshot_that_does_not_exist_is_refused(id_: int, history: bool) -> None:
    with pytest.raises(InvalidRequest, match=rf"the table sales.eu.orders has no snapshot {id_}$"):
        await Served(shared_table(history=history)).planned(id_)


@pytest.mark.parametrize("id_", [0, -1, -(1 << 62)])
async def test_snapshot_ids_that_no_version_has_are_refused(id_: int) -> None:
    for shared in (HISTORY, shared_table(), shared_table(history=True, start_version=2)):
        with pytest.raises(InvalidRequest):
            await Served(shared).planned(id_)


async def test_versions_before_the_first_shared_one_are_refused() -> None:
    served = Served(shared_table(history=True, start_version=3))
    assert (await served.planned(4)).snapshot.version == 3
    with pytest.raises(InvalidRequest, match=r"the first shared version of .* is 3"):
        await served.planned(3)
    with pytest.raises(InvalidRequest, match="the first shared version"):
        await served.planned(6, start=2)
    assert (await served.planned(6, start=3)).snapshot.version == LATEST


async def test_a_table_whose_latest_version_is_not_shared_yet_has_no_view() -> None:
    served = Served(shared_table(history=True, start_version=9))
    with pytest.raises(InvalidRequest, match=r"the first shared version of .* is 9"):
        await served.latest()
    assert served.named == []


async def test_an_incremental_scan_requires_history() -> None:
    served = Served(shared_table())
    with pytest.raises(UnsupportedOperation, match="an incremental scan cannot be used"):
        await served.planned(6, start=4)
    assert (await Served(HISTORY).planned(6, start=4)).snapshot.version == LATEST


@pytest.mark.parametrize(("later", "allowed"), [(0, 3), (0.5, 3), (1, 4), (2, 5), (3600, 5)])
async def test_without_history_a_version_can_be_planned_for_some_time_after_the_next_one(
    later: float, allowed: int
) -> None:
    served = Served(shared_table())
    served.now += later
    for version in range(LATEST + 1):
        if version >= allowed:
            assert (await served.planned(snapshot_id(version))).snapshot.version == version
        else:
            with pytest.raises(
                InvalidRequest, match="shared without its history: load the table again"
            ):
                await served.planned(snapshot_id(version))


async def test_all_versions_of_a_table_younger_than_the_grace_period_can_be_planned() -> None:
    served = Served(shared_table())
    served.now = time_of(0) / 1000
    assert (await served.planned(1)).snapshot.version == 0


async def test_only_files_of_the_shared_partitions_are_seen() -> None:
    served = Served(shared_table(history=True, partition_filter="day = 'b'"))
    assert paths_of(await served.latest()) == [f"b{part}" for part in range(6)]
    assert paths_of(await served.planned(2)) == ["b0", "b1"]
    assert paths_of(await served.viewer.issued(ACME, served.shared, 0, 99)) == ["b0"]


async def test_a_recipient_without_the_property_of_the_filter_is_denied() -> None:
    shared = shared_table(partition_filter="day = recipient.day")
    with pytest.raises(PermissionDenied, match="property 'day'"):
        await Served(shared).latest()
    mine = Served(shared, replace(ACME, properties={"day": "a"}))
    assert len((await mine.latest()).files) == 6


async def test_issued_paths_are_named_as_of_their_time_of_issue() -> None:
    """They were verified before, so the version is served although it is no longer the latest."""
    served = Served(shared_table())
    served.now += 3600
    view = await served.viewer.issued(ACME, served.shared, 1, 99)
    assert (view.snapshot.version, len(view.files)) == (1, 4)
    assert served.named == [(1, 99)]


async def test_issued_paths_of_versions_that_are_no_longer_shared_are_refused() -> None:
    served = Served(shared_table(start_version=3))
    with pytest.raises(InvalidRequest, match="the first shared version"):
        await served.viewer.issued(ACME, served.shared, 1, 99)


async def test_a_table_that_iceberg_cannot_express_is_not_in_this_catalog() -> None:
    served = Served(HISTORY)
    served.obstacle = UnsupportedOperation("its column 'v' has the type variant", detail="secret")
    asked = (
        served.latest,
        lambda: served.planned(3),
        lambda: served.viewer.issued(ACME, HISTORY, 3, 9),
    )
    for ask in asked:
        with pytest.raises(NoSuchTable) as caught:
            await ask()
        assert caught.value.message == (
            "the table sales.eu.orders is not offered by the Iceberg catalog: "
            "its column 'v' has the type variant"
        )
        assert caught.value.detail == "secret"


async def test_other_errors_are_passed_on() -> None:
    served = Served(HISTORY)
    served.gateway.format.failure = SluicegateError("the store is gone")
    with pytest.raises(SluicegateError, match="the store is gone"):
        await served.latest()
