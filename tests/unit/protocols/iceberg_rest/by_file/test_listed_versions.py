"""Which versions the metadata of a shared table lists."""

from __future__ import annotations

from typing import Any

import pytest
from support.gateways.memory_gateway import memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.tables.filesets import schema_field, table_metadata
from support.tables.iceberg_views import Prefixed, iceberg_shape
from support.tables.memory_tables import MemoryFormat, file, snapshot, time_of

from sluicegate.api import SharedTable, UnsupportedOperation
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.by_file.listed_versions import ListedVersions
from sluicegate.protocols.iceberg_rest.by_file.viewer import IcebergViewer
from sluicegate.protocols.iceberg_rest.view import ViewPaths
from sluicegate.tables.iceberg.metadata import ListedSnapshot
from sluicegate.tables.iceberg.shape import IcebergShape
from sluicegate.tables.snapshot import TableMetadata
from sluicegate.tables.versions import DescribedVersion

COLUMNS = [schema_field("id", "long"), schema_field("day", "string")]
BY_DAY, PLAIN = table_metadata(COLUMNS, ["day"]), table_metadata(COLUMNS)


class Served:
    """A table with one version for each metadata.

    Attributes:
        shaped: The versions that were expressed, in that order.
        obstacle: The number of a version that cannot be expressed.
    """

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
