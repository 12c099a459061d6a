"""Commits to a catalog that loses requests and responses: no commit is applied twice or lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count, product
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from sluicegate.api import AuthorizedClient, HttpClient, Unavailable
from sluicegate_iceberg.config import IcebergConfig
from sluicegate_iceberg.names import TableName
from sluicegate_iceberg.rest.client import IcebergClient
from sluicegate_iceberg.rest.commits import CommitMarks, CommittedTable
from sluicegate_iceberg.rest.refusal import CommitStateUnknown, Refused
from sluicegate_iceberg.rest.requests import Rest
from sluicegate_testing.servers.committing_catalog import (
    CommittingCatalog,
    Fault,
    committing_catalog,
)

TABLE = TableName(("sales",), "orders")
KEY = "sales/tables/orders"
NEVER_UNKNOWN = {Fault.UNAVAILABLE, Fault.THROTTLED}


@pytest.fixture(scope="module")
def served() -> Iterator[CommittingCatalog]:
    with committing_catalog() as running:
        yield running


@pytest.fixture
def catalog(served: CommittingCatalog) -> CommittingCatalog:
    served.settle()
    served.tables.clear()
    served.changes.clear()
    served.faults.clear()
    served.reading_faults.clear()
    served.checks = True
    return served


@pytest_asyncio.fixture
async def client(catalog: CommittingCatalog) -> AsyncIterator[IcebergClient]:
    http = HttpClient(timeout=5, connections=2, longest=100_000, pauses=(0.0, 0.0))
    rest = Rest("lake", AuthorizedClient(http, None), {})
    config = IcebergConfig.model_validate({"uri": catalog.uri})
    yield IcebergClient(rest, config, pauses=(0.0, 0.0, 0.0))
    await http.aclose()


async def create(client: IcebergClient) -> str:
    uuid = str(uuid4())
    updates = [
        {"action": "assign-uuid", "uuid": uuid},
        {"action": "set-location", "location": f"s3://lake/{uuid}"},
    ]
    await client.commit(TABLE, [{"type": "assert-create"}], updates)
    return uuid


_IDS = count(1)


async def append(client: IcebergClient, catalog: CommittingCatalog, new: int) -> None:
    parent = catalog.tables[KEY]["current-snapshot-id"]
    requirement = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": parent}
    ref: dict[str, Any] = {
        "action": "set-snapshot-ref",
        "ref-name": "main",
        "type": "branch",
        "snapshot-id": new,
    }
    updates: list[dict[str, Any]] = [
        {"action": "add-snapshot", "snapshot": {"snapshot-id": new}},
        ref,
    ]
    await client.commit(TABLE, [requirement], updates)


async def test_each_commit_is_applied_once_whatever_is_lost(
    client: IcebergClient, catalog: CommittingCatalog
) -> None:
    await create(client)
    for faults in product(Fault, repeat=2):
        catalog.faults.extend(faults)
        new = next(_IDS)
        await append(client, catalog, new)
        catalog.faults.clear()
        catalog.settle()
        assert catalog.changes.count(new) == 1, faults
        assert catalog.tables[KEY]["current-snapshot-id"] == new, faults


async def test_a_commit_is_not_sent_again_where_the_table_shows_it(
    client: IcebergClient, catalog: CommittingCatalog
) -> None:
    """A catalog that doesn't check requirements also applies the commit only once."""
    catalog.checks = False
    await create(client)
    for faults in product([fault for fault in Fault if fault.applied != "late"], repeat=2):
        catalog.faults.extend(faults)
        new = next(_IDS)
        await append(client, catalog, new)
        catalog.faults.clear()
        assert catalog.changes.count(new) == 1, faults


@pytest.mark.parametrize("fault", Fault)
async def test_a_table_is_created_once(
    client: IcebergClient, catalog: CommittingCatalog, fault: Fault
) -> None:
    catalog.faults.append(fault)
    uuid = await create(client)
    catalog.settle()
    assert catalog.changes == [uuid]


@pytest.mark.parametrize("fault", Fault)
async def test_what_cannot_be_found_out_is_unknown(
    client: IcebergClient, catalog: CommittingCatalog, fault: Fault
) -> None:
    await create(client)
    catalog.faults.append(fault)
    catalog.reading_faults.extend([Fault.CUT_BEFORE] * 10)
    new = next(_IDS)
    if fault in NEVER_UNKNOWN:
        await append(client, catalog, new)
    else:
        with pytest.raises(CommitStateUnknown, match="did not confirm a change"):
            await append(client, catalog, new)
    catalog.settle()
    assert catalog.changes.count(new) <= 1


async def test_a_catalog_that_never_confirms_leaves_it_unknown(
    client: IcebergClient, catalog: CommittingCatalog
) -> None:
    await create(client)
    catalog.faults.extend([Fault.CUT_BEFORE] * 3)
    with pytest.raises(CommitStateUnknown):
        await append(client, catalog, new := next(_IDS))
    assert new not in catalog.changes


async def test_another_writers_commit_is_a_conflict(
    client: IcebergClient, catalog: CommittingCatalog
) -> None:
    await create(client)
    requirement = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 999}
    update: dict[str, Any] = {"action": "add-snapshot", "snapshot": {"snapshot-id": next(_IDS)}}
    for faults in ([], [Fault.CUT_BEFORE], [Fault.BAD_GATEWAY_AFTER]):
        catalog.faults.extend(faults)
        with pytest.raises(Refused) as refused:
            await client.commit(TABLE, [requirement], [update])
        assert refused.value.says_conflict
    catalog.reading_faults.extend([Fault.CUT_BEFORE] * 3)
    with pytest.raises(Refused):
        await client.commit(TABLE, [requirement], [update])


async def test_a_catalog_that_is_down_was_changed_by_nothing(
    client: IcebergClient, catalog: CommittingCatalog
) -> None:
    uuid = await create(client)
    catalog.faults.extend([Fault.THROTTLED] * 3)
    with pytest.raises(Unavailable) as failed:
        await append(client, catalog, next(_IDS))
    assert not isinstance(failed.value, CommitStateUnknown)
    assert catalog.changes == [uuid]


@pytest.mark.parametrize("fault", Fault)
async def test_a_table_of_the_same_name_is_not_dropped_by_a_repeated_request(
    client: IcebergClient, catalog: CommittingCatalog, fault: Fault
) -> None:
    uuid = await create(client)
    catalog.faults.append(fault)

    async def is_there() -> bool:
        """Another client creates a table with this name as soon as the name is available."""
        table = catalog.tables.setdefault(KEY, {"table-uuid": "another", "location": ""})
        return bool(table["table-uuid"] == uuid)

    await client.drop(TABLE, is_there)
    assert catalog.changes == [uuid, f"dropped {uuid}"]


def test_a_commit_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="so that it can be recognized"):
        CommitMarks.of([{"action": "set-properties", "updates": {}}])


@pytest.mark.parametrize("location", ["", "/"])
def test_a_table_without_a_directory_is_recognized_by_its_uuid_alone(location: str) -> None:
    marks = CommitMarks.of([{"action": "assign-uuid", "uuid": "ours"}])
    for uuid, expected in (("ours", True), ("another", False)):
        metadata = {"table-uuid": uuid, "location": location}
        assert marks.are_on(CommittedTable.model_validate({"metadata": metadata})) is expected
