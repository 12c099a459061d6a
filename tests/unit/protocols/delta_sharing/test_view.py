"""One version of a table as one recipient sees it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.gateways.memory_gateway import MemoryGateway, catalog_table, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import LAKE
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import (
    WITH_VECTORS,
    MemoryFormat,
    file,
    snapshot,
    time_of,
)

from sluicegate.api import InvalidRequest, NotFound, SharedTable, UnsupportedOperation
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.encoding.ndjson import VersionStamp
from sluicegate.protocols.delta_sharing.negotiation import Agreement, parse
from sluicegate.protocols.delta_sharing.request import ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.view import View, Viewer, table_headers

HISTORY = shared_table(history=True)
PLAIN = ResponseOptions(parse(None))
DELTA = ResponseOptions(parse("responseformat=delta;readerfeatures=deletionvectors"))
LATEST = TimeTravel()
VECTOR = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}


@pytest.fixture
def gateway() -> MemoryGateway:
    """Versions 0 to 3; each has as many files as its number says."""
    rows = [file("a"), file("b"), file("c")]
    versions = [snapshot(*rows[:version], version=version) for version in range(4)]
    return memory_gateway(HISTORY, format=MemoryFormat(versions))


def viewer(gateway: MemoryGateway) -> Viewer:
    return Viewer(gateway.resolver, gateway.reader, DirectoryAccess(gateway.instances))


async def view(
    gateway: MemoryGateway,
    shared: SharedTable = HISTORY,
    form: ResponseOptions = PLAIN,
    travel: TimeTravel = LATEST,
    **options: Any,
) -> View:
    return await viewer(gateway).view(ACME, shared, form, travel=travel, **options)


def parsed(lines: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


@pytest.mark.parametrize(
    ("travel", "version"),
    [
        (LATEST, 3),
        (TimeTravel(version=0), 0),
        (TimeTravel(version=3), 3),
        (TimeTravel(timestamp=time_of(1)), 1),
        (TimeTravel(timestamp=time_of(2) - 1), 1),
        (TimeTravel(timestamp=time_of(9)), 3),
    ],
)
async def test_time_travel_selects_the_version_that_lines_then_carry(
    gateway: MemoryGateway, travel: TimeTravel, version: int
) -> None:
    found = await view(gateway, travel=travel)
    assert (found.snapshot.version, len(found.files)) == (version, version)
    assert found.at == (VersionStamp(version, time_of(version)) if travel else None)
    await viewer(gateway).load(ACME, HISTORY, travel)


async def test_a_pinned_version_takes_precedence(gateway: MemoryGateway) -> None:
    assert (await view(gateway, pinned=0)).snapshot.version == 0
    found = await view(gateway, travel=TimeTravel(version=3), pinned=1)
    assert (found.snapshot.version, found.at) == (1, VersionStamp(1, time_of(1)))


async def test_a_pinned_version_needs_no_history(gateway: MemoryGateway) -> None:
    assert (await view(gateway, shared_table(), pinned=2)).at is None


@pytest.mark.parametrize("travel", [TimeTravel(version=3), TimeTravel(timestamp=time_of(3))])
async def test_time_travel_needs_history(gateway: MemoryGateway, travel: TimeTravel) -> None:
    for attempt in (
        view(gateway, shared_table(), travel=travel),
        viewer(gateway).load(ACME, shared_table(), travel),
    ):
        with pytest.raises(UnsupportedOperation, match=r"time travel \(version, timestamp\) cannot"):
            await attempt
    assert gateway.format.read == []


@pytest.mark.parametrize(
    ("start", "travel", "options", "version"),
    [
        (2, TimeTravel(version=1), {}, 1),
        (2, TimeTravel(timestamp=time_of(1)), {}, 1),
        (4, LATEST, {}, 3),
        (2, LATEST, {"pinned": 1}, 1),
    ],
)
async def test_versions_before_the_first_shared_one_are_not_shown(
    gateway: MemoryGateway, start: int, travel: TimeTravel, options: dict[str, Any], version: int
) -> None:
    shared = replace(HISTORY, start_version=start)
    with pytest.raises(InvalidRequest, match=f"version {version} is not shared"):
        await view(gateway, shared, travel=travel, **options)


async def test_a_version_that_is_not_shared_is_not_read(gateway: MemoryGateway) -> None:
    with pytest.raises(InvalidRequest):
        await view(gateway, replace(HISTORY, start_version=2), travel=TimeTravel(version=1))
    assert gateway.format.read == []


async def test_only_shared_partitions_count(gateway: MemoryGateway) -> None:
    rows = [
        file(name, partition_values=f'{{"country":"{country}"}}', size=size)
        for name, country, size in (("a", "DE", 5), ("b", "FR", 7), ("c", "DE", 11))
    ]
    metadata = table_metadata([schema_field("country", "string")], ["country"])
    gateway.format.versions = [snapshot(*rows, metadata=metadata)]
    found = await view(gateway, shared_table(partition_filter="country = 'DE'"))
    line = parsed(found.head())[1]["metaData"]
    assert (line["size"], line["numFiles"]) == (16, 2)


async def test_the_head_in_parquet_format(gateway: MemoryGateway) -> None:
    protocol, metadata = parsed((await view(gateway)).head())
    assert protocol == {"protocol": {"minReaderVersion": 1}}
    assert metadata["metaData"]["numFiles"] == 3
    assert metadata["metaData"].keys().isdisjoint({"version", "accessModes", "deltaMetadata"})


async def test_the_head_in_delta_format_names_the_negotiated_features(
    gateway: MemoryGateway,
) -> None:
    gateway.format.versions = [snapshot(file("a", deletion_vector=VECTOR), protocol=WITH_VECTORS)]
    found = await view(gateway, form=DELTA, travel=TimeTravel(version=0))
    protocol, metadata = parsed(found.head())
    assert protocol["protocol"]["deltaProtocol"]["readerFeatures"] == ["deletionVectors"]
    assert metadata["metaData"]["version"] == 0
    assert found.hash_name == "sha256"
    with pytest.raises(UnsupportedOperation, match="uses deletionVectors"):
        await view(gateway)


async def test_vectors_that_the_protocol_does_not_declare_are_declared(gateway: MemoryGateway) -> None:
    gateway.format.versions = [snapshot(file("a", deletion_vector=VECTOR))]
    protocol, _ = parsed((await view(gateway, form=DELTA)).head())
    assert protocol["protocol"]["deltaProtocol"]["readerFeatures"] == ["deletionVectors"]


@pytest.fixture
def lake() -> MemoryGateway:
    """A Delta table, shared with directory access, whose storage vends."""
    source = catalog_table(format="delta")
    return memory_gateway(format=MemoryFormat([snapshot(file("a"))]), sources=[source])


BOTH, DIRECTORY = shared_table(access_modes=("url", "dir")), shared_table(access_modes=("dir",))


async def test_metadata_have_the_directory_if_it_is_offered(lake: MemoryGateway) -> None:
    found = await view(lake, BOTH, metadata=True)
    line = parsed(found.head())[1]["metaData"]
    assert (line["accessModes"], line["location"]) == (["url", "dir"], f"{LAKE}/orders")
    with_mode = ResponseOptions(parse("accessmode=dir"))
    assert (await view(lake, BOTH, with_mode, metadata=True)).agreement.access_modes == ("dir",)


async def test_a_table_with_directory_access_alone_has_metadata_but_no_files(
    lake: MemoryGateway,
) -> None:
    assert (await view(lake, DIRECTORY, metadata=True)).offer.modes == ("dir",)
    with pytest.raises(UnsupportedOperation, match="request temporary credentials"):
        await view(lake, DIRECTORY)


async def test_files_in_other_directories_count_for_the_offer(lake: MemoryGateway) -> None:
    lake.format.versions = [snapshot(file("a"), file(f"{LAKE}/elsewhere/b"))]
    assert (await view(lake, BOTH, metadata=True)).offer.modes == ("url",)


async def test_a_table_for_the_iceberg_catalog_alone_says_so(lake: MemoryGateway) -> None:
    metadata = f"{LAKE}/orders/metadata/v1.json"
    lake.catalog["orders"] = catalog_table(metadata_location=metadata)
    for is_metadata in (True, False):
        with pytest.raises(UnsupportedOperation, match="read it from the Iceberg catalog"):
            await view(lake, DIRECTORY, metadata=is_metadata)


@pytest.mark.parametrize(
    ("starting", "start", "expected"),
    [
        (None, 0, 3),
        (None, 3, 3),
        (time_of(1), 0, 1),
        (time_of(1) + 1, 0, 2),
        (0, 0, 0),
        (0, 2, 2),
    ],
)
async def test_the_version_of_a_table(
    gateway: MemoryGateway, starting: int | None, start: int, expected: int
) -> None:
    shared = replace(HISTORY, start_version=start)
    assert await viewer(gateway).version(ACME, shared, starting) == expected


@pytest.mark.parametrize(
    ("shared", "starting", "error"),
    [
        (shared_table(), 0, UnsupportedOperation),
        (HISTORY, time_of(3) + 1, InvalidRequest),
        (replace(HISTORY, start_version=4), None, InvalidRequest),
    ],
)
async def test_a_version_that_does_not_exist_for_the_recipient(
    gateway: MemoryGateway, shared: SharedTable, starting: int | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await viewer(gateway).version(ACME, shared, starting)


async def test_the_latest_snapshot_ignores_the_limits_of_the_share(gateway: MemoryGateway) -> None:
    limited = shared_table(start_version=9, partition_filter="x = 'y'")
    assert (await viewer(gateway).latest(ACME, limited)).version == 3


async def test_a_table_that_is_gone_is_not_found(gateway: MemoryGateway) -> None:
    gateway.catalog.clear()
    with pytest.raises(NotFound, match="no longer exists"):
        await view(gateway)


@pytest.mark.parametrize("file_id_hash", [None, "parquet"])
async def test_headers_of_responses(gateway: MemoryGateway, file_id_hash: str | None) -> None:
    form = ResponseOptions(parse(None), file_id_hash)
    expected = {"Delta-Table-Version": "3", "delta-sharing-capabilities": "responseformat=parquet"}
    if file_id_hash is not None:
        expected["fileidhash"] = file_id_hash
    found = await view(gateway, form=form)
    assert found.headers(form) == expected
    assert table_headers(3, Agreement("parquet"), form) == expected
