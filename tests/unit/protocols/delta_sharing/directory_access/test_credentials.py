"""Which directory of a table credentials are vended for."""

from __future__ import annotations

from typing import Any

import pytest
from support.gateways.memory_gateway import MemoryGateway, catalog_table, memory_gateway, shared_table
from support.gateways.memory_grants import ACME, RIVAL
from support.gateways.memory_instances import LAKE
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate.api import (
    InvalidRequest,
    NotFound,
    Principal,
    SharedTable,
    StorageError,
    Unauthenticated,
    UnsupportedOperation,
)
from sluicegate.protocols.delta_sharing.directory_access.credentials import TableCredentials
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.tables.snapshot import Snapshot

ROOT, AUXILIARY, CLONES = f"{LAKE}/orders", f"{LAKE}/aux", f"{LAKE}/clones"
BOTH = shared_table(access_modes=("url", "dir"))
DIRECTORY = shared_table(access_modes=("dir",))


@pytest.fixture
def gateway() -> MemoryGateway:
    """A table with files in its root, in an auxiliary location and in a directory of clones."""
    files = [file("a"), file(f"{AUXILIARY}/b"), file(f"{CLONES}/c")]
    source = catalog_table(format="delta", auxiliary_locations=(AUXILIARY,))
    format_ = MemoryFormat([snapshot(*files)])
    return memory_gateway(format=format_, sources=[source], absolute_paths=(f"{CLONES}/",))


def credentials(gateway: MemoryGateway) -> TableCredentials:
    async def latest(principal: Principal, shared: SharedTable) -> Snapshot:
        table = await gateway.open(shared, principal)
        return await gateway.reader.latest(table.source, table.directory)

    access = DirectoryAccess(gateway.instances)
    return TableCredentials(gateway.resolver, access, latest, gateway.vending)


@pytest.mark.parametrize(
    ("location", "directory", "reads"),
    [
        (None, ROOT, []),
        (ROOT, ROOT, []),
        (f"{ROOT}/", ROOT, []),
        ("MEM://lake/orders", ROOT, []),
        (AUXILIARY, AUXILIARY, []),
        (CLONES, CLONES, ["latest"]),  # only the log knows it
    ],
)
async def test_credentials_are_for_one_directory(
    gateway: MemoryGateway, location: str | None, directory: str, reads: list[str]
) -> None:
    vended = await credentials(gateway).issue(ACME, BOTH, location)
    assert vended.location == directory
    (scope,) = gateway.storage.vendor.scopes
    assert (scope.locations, scope.principal) == ((directory,), ACME)
    assert gateway.format.read == reads
    (entry,) = gateway.ledger.written
    assert (entry.kind, entry.locations, entry.table_id) == ("credentials", (directory,), BOTH.id)


@pytest.mark.parametrize(
    "location", [LAKE, f"{LAKE}/order", f"{ROOT}/day=1", f"{ROOT}/../aux", "memory://pond/orders", ""]
)
async def test_other_locations_are_rejected(gateway: MemoryGateway, location: str) -> None:
    with pytest.raises(InvalidRequest, match=r"location is not a directory of the table sales\.eu"):
        await credentials(gateway).issue(ACME, BOTH, location)
    assert gateway.storage.vendor.scopes == []


async def test_all_directories_have_the_root_first(gateway: MemoryGateway) -> None:
    source, directories = await credentials(gateway).directories(ACME, DIRECTORY)
    assert source.id == "c-orders"
    assert directories == (ROOT, AUXILIARY, CLONES)
    assert gateway.storage.vendor.scopes == []


@pytest.mark.parametrize(
    ("shared", "source", "instead"),
    [
        ({}, {}, r"; read it by presigned URLs \(url\)$"),
        ({"access_modes": ("url", "dir"), "start_version": 1}, {}, "; read it by presigned URLs"),
        ({"access_modes": ("dir",), "start_version": 1}, {}, r"\(dir\)$"),
        (
            {"access_modes": ("dir",)},
            {"format": "memory", "metadata_location": f"{ROOT}/metadata/v1.json"},
            "; read it from the Iceberg catalog of this server .*, which vends credentials for it$",
        ),
        (
            {"access_modes": ("url", "dir")},
            {"format": "memory", "metadata_location": f"{ROOT}/metadata/v1.json"},
            "; read it from the Iceberg catalog .*, or by presigned URLs",
        ),
    ],
)
async def test_a_table_without_directory_access_says_how_to_read_it(
    gateway: MemoryGateway, shared: dict[str, Any], source: dict[str, Any], instead: str
) -> None:
    gateway.catalog["orders"] = catalog_table(**{"format": "delta", **source})
    for attempt in (
        credentials(gateway).issue(ACME, shared_table(**shared), None),
        credentials(gateway).directories(ACME, shared_table(**shared)),
    ):
        with pytest.raises(UnsupportedOperation, match=f"does not offer directory access.*{instead}"):
            await attempt
    assert (gateway.storage.vendor.scopes, gateway.format.read) == ([], [])


async def test_a_table_with_files_elsewhere_has_no_other_directories(gateway: MemoryGateway) -> None:
    gateway.format.versions = [snapshot(file("a"), file(f"{LAKE}/secret/b"))]
    with pytest.raises(UnsupportedOperation, match="does not offer directory access"):
        await credentials(gateway).directories(ACME, BOTH)
    with pytest.raises(UnsupportedOperation, match="does not offer directory access"):
        await credentials(gateway).issue(ACME, BOTH, f"{LAKE}/secret")
    assert gateway.storage.vendor.scopes == []


async def test_a_vendor_without_credentials_is_an_error(gateway: MemoryGateway) -> None:
    gateway.storage.vendor.failure = StorageError("none now")
    with pytest.raises(StorageError, match="none now"):
        await credentials(gateway).issue(ACME, BOTH, None)
    assert gateway.ledger.written == []


async def test_a_recipient_that_was_removed_gets_none(gateway: MemoryGateway) -> None:
    del gateway.grants.recipients["acme"]
    with pytest.raises(Unauthenticated):
        await credentials(gateway).issue(ACME, BOTH, None)


async def test_credentials_are_not_shared_between_recipients(gateway: MemoryGateway) -> None:
    issue = credentials(gateway).issue
    first, again = await issue(ACME, BOTH, None), await issue(ACME, BOTH, ROOT)
    assert (await issue(RIVAL, BOTH, None)).secret != first.secret
    assert again.secret == first.secret


async def test_a_table_that_is_gone_is_not_found(gateway: MemoryGateway) -> None:
    gateway.catalog.clear()
    with pytest.raises(NotFound, match="no longer exists"):
        await credentials(gateway).issue(ACME, BOTH, None)
