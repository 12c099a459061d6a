"""Metadata requests and snapshot queries, from the request to the last line of the response."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.gateways.memory_gateway import KEYS, MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import EXPIRES
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate.api import InvalidRequest, SharedTable, StorageError, UnsupportedOperation
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.negotiation import parse
from sluicegate.protocols.delta_sharing.query.execute import TableQueries
from sluicegate.protocols.delta_sharing.query.response_cache import ResponseCache
from sluicegate.protocols.delta_sharing.query.selection import BATCH_ROWS, FIRST_BATCH_ROWS
from sluicegate.protocols.delta_sharing.query.tokens import Continuations
from sluicegate.protocols.delta_sharing.request import QueryRequest, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.response import SharingResponse
from sluicegate.protocols.delta_sharing.view import Viewer
from sluicegate.signing.opaque_tokens import TokenSigner

TABLE = shared_table(history=True)
LATEST = TimeTravel()
ALL = QueryRequest(LATEST)
END = {"endStreamAction": {"minUrlExpirationTimestamp": EXPIRES}}
WITH_END = "includeendstreamaction=true"
BY_DAY = table_metadata([schema_field("day", "string")], ["day"])


def stats(count: int) -> str:
    return json.dumps({"numRecords": count})


@pytest.fixture
def gateway() -> MemoryGateway:
    """Four files of ten rows, of two days; the order in memory is not that of the paths."""
    rows = [
        file(name, partition_values=f'{{"day":"{day}"}}', stats=stats(10))
        for name, day in (("c", 1), ("a", 2), ("d", 1), ("b", 2))
    ]
    return memory_gateway(TABLE, format=MemoryFormat([snapshot(*rows, metadata=BY_DAY)]))


def queries(gateway: MemoryGateway) -> TableQueries:
    viewer = Viewer(gateway.resolver, gateway.reader, DirectoryAccess(gateway.instances))
    refreshes = TokenSigner(KEYS.derive("refresh"), 60)
    return TableQueries(
        viewer,
        gateway.signer,
        Continuations(TokenSigner(KEYS, 60), refreshes),
        ResponseCache(0),
        gateway.reader.encoded,
    )


async def query(
    gateway: MemoryGateway,
    request: QueryRequest = ALL,
    header: str | None = None,
    shared: SharedTable = TABLE,
) -> SharingResponse:
    return await queries(gateway).query(ACME, shared, request, ResponseOptions(parse(header)))


async def lines(response: SharingResponse) -> list[dict[str, Any]]:
    return [json.loads(text) async for part in response.lines for text in part.splitlines()]


def paths(found: list[dict[str, Any]]) -> str:
    return "".join(line["file"]["url"].rpartition("/")[2] for line in found if "file" in line)


def end_of(found: list[dict[str, Any]]) -> dict[str, Any]:
    end: dict[str, Any] = found[-1]["endStreamAction"]
    return end


async def test_the_response_has_head_and_files(gateway: MemoryGateway) -> None:
    response = await query(gateway)
    assert response.headers["Delta-Table-Version"] == "0"
    found = await lines(response)
    assert [next(iter(line)) for line in found] == ["protocol", "metaData", *["file"] * 4]
    assert paths(found) == "cadb"


@pytest.mark.parametrize("header", [None, WITH_END])
async def test_metadata_are_two_lines(gateway: MemoryGateway, header: str | None) -> None:
    form = ResponseOptions(parse(header))
    response = await queries(gateway).metadata(ACME, TABLE, LATEST, form)
    assert [next(iter(line)) for line in await lines(response)] == ["protocol", "metaData"]
    assert response.headers["delta-sharing-capabilities"] == "responseformat=parquet"
    assert gateway.storage.signed == []


async def test_metadata_of_time_travel_have_their_version(gateway: MemoryGateway) -> None:
    response = await queries(gateway).metadata(ACME, TABLE, TimeTravel(0), ResponseOptions(parse(None)))
    assert (await lines(response))[1]["metaData"]["version"] == 0


@pytest.mark.parametrize(
    ("request_", "header", "has_end"),
    [
        (ALL, None, False),
        (ALL, WITH_END, True),
        (replace(ALL, max_files=9), None, True),
        (replace(ALL, include_refresh_token=True), None, True),
    ],
)
async def test_a_last_line_comes_if_it_is_requested(
    gateway: MemoryGateway, request_: QueryRequest, header: str | None, has_end: bool
) -> None:
    found = await lines(await query(gateway, request_, header))
    assert ("endStreamAction" in found[-1]) is has_end
    assert not has_end or end_of(found)["minUrlExpirationTimestamp"] == EXPIRES


@pytest.mark.parametrize(
    ("size", "expected"), [(1, ["a", "b", "c", "d"]), (3, ["abc", "d"]), (4, ["abcd"]), (9, ["abcd"])]
)
async def test_pages_are_in_the_order_of_paths(
    gateway: MemoryGateway, size: int, expected: list[str]
) -> None:
    found, request = [], replace(ALL, max_files=size)
    while True:
        page = await lines(await query(gateway, request))
        found.append(paths(page))
        token = end_of(page).get("nextPageToken")
        if token is None:
            break
        request = replace(request, page_token=token)
    assert found == expected


async def test_a_later_page_without_a_size_has_all_other_files(gateway: MemoryGateway) -> None:
    first = await lines(await query(gateway, replace(ALL, max_files=1)))
    rest = replace(ALL, page_token=end_of(first)["nextPageToken"])
    found = await lines(await query(gateway, rest))
    assert (paths(found), found[-1]) == ("bcd", END)


async def test_pages_are_of_one_version(gateway: MemoryGateway) -> None:
    request = replace(ALL, max_files=3)
    first = await lines(await query(gateway, request))
    older = gateway.format.versions[0]
    gateway.format.versions = [older, snapshot(file("z"), version=1, metadata=BY_DAY)]
    later = await query(gateway, replace(request, page_token=end_of(first)["nextPageToken"]))
    assert later.headers["Delta-Table-Version"] == "0"
    found = await lines(later)
    assert (found[:2], paths(found)) == (first[:2], "d")


async def test_a_refresh_repeats_its_version(gateway: MemoryGateway) -> None:
    first = await lines(await query(gateway, replace(ALL, include_refresh_token=True)))
    older = gateway.format.versions[0]
    gateway.format.versions = [older, snapshot(file("z"), version=1, metadata=BY_DAY)]
    token = end_of(first)["refreshToken"]
    again = replace(ALL, include_refresh_token=True, refresh_token=token)
    found = await lines(await query(gateway, again))
    assert found[:-1] == first[:-1]
    assert "refreshToken" in end_of(found)
    assert paths(await lines(await query(gateway))) == "z"


@pytest.mark.parametrize(
    ("limit", "expected"), [(0, ""), (1, "c"), (10, "c"), (11, "ca"), (40, "cadb"), (99, "cadb")]
)
async def test_a_limit_cuts_off_files(gateway: MemoryGateway, limit: int, expected: str) -> None:
    found = await lines(await query(gateway, replace(ALL, limit=limit), WITH_END))
    assert paths(found) == expected
    assert "nextPageToken" not in end_of(found)


@pytest.mark.parametrize(("limit", "expected"), [(5, ["a"]), (15, ["a", "b"]), (25, ["a", "b", "c"])])
async def test_a_limit_counts_down_over_pages(
    gateway: MemoryGateway, limit: int, expected: list[str]
) -> None:
    found, request = [], replace(ALL, max_files=1, limit=limit)
    while True:
        page = await lines(await query(gateway, request))
        found.append(paths(page))
        token = end_of(page).get("nextPageToken")
        if token is None:
            break
        request = replace(request, page_token=token)
    assert found == expected


async def test_hints_leave_out_files_but_not_the_totals(gateway: MemoryGateway) -> None:
    found = await lines(await query(gateway, replace(ALL, sql_hints=("day = '2'",))))
    assert paths(found) == "ab"
    assert found[1]["metaData"]["numFiles"] == 4


async def test_hints_apply_to_pages(gateway: MemoryGateway) -> None:
    hinted = replace(ALL, sql_hints=("day = '1'",), max_files=1)
    first = await lines(await query(gateway, hinted))
    later = await lines(
        await query(gateway, replace(hinted, page_token=end_of(first)["nextPageToken"]))
    )
    assert (paths(first), paths(later), later[-1]) == ("c", "d", END)


async def test_a_table_without_files_has_its_head(gateway: MemoryGateway) -> None:
    gateway.format.versions = [snapshot()]
    for request in (ALL, replace(ALL, max_files=5)):
        found = await lines(await query(gateway, request, WITH_END))
        assert [next(iter(line)) for line in found] == ["protocol", "metaData", "endStreamAction"]
        assert found[-1] == {"endStreamAction": {}}


@pytest.mark.parametrize("options", [{}, {"max_files": 1000}])
async def test_a_long_response_comes_in_parts(gateway: MemoryGateway, options: dict[str, Any]) -> None:
    count = FIRST_BATCH_ROWS + BATCH_ROWS + 1
    gateway.format.versions = [snapshot(*(file(f"{number:04}") for number in range(count)))]
    response = await query(gateway, replace(ALL, **options))
    parts = [part.count(b'{"file"') async for part in response.lines]
    assert sum(parts) == count
    assert max(parts) <= BATCH_ROWS
    assert options or parts[:2] == [FIRST_BATCH_ROWS, BATCH_ROWS]


async def test_a_store_that_cannot_sign_is_an_error_instead_of_a_response(
    gateway: MemoryGateway,
) -> None:
    gateway.storage.failure = StorageError("the store is down")
    with pytest.raises(StorageError):
        await query(gateway, header=WITH_END)


async def test_a_store_that_fails_later_is_the_last_line(gateway: MemoryGateway) -> None:
    gateway.format.versions = [snapshot(*(file(f"{number:04}") for number in range(100)))]
    response = await query(gateway, header=WITH_END)
    gateway.storage.failure = StorageError("the store is down")
    assert end_of(await lines(response)) == {
        "errorMessage": "the store is down",
        "httpStatusErrorCode": 503,
    }


async def test_a_token_of_another_request_is_rejected_before_the_table_is_read(
    gateway: MemoryGateway,
) -> None:
    first = await lines(await query(gateway, replace(ALL, max_files=1)))
    gateway.format.read.clear()
    token = end_of(first)["nextPageToken"]
    with pytest.raises(InvalidRequest, match="pageToken is not valid"):
        await query(gateway, replace(ALL, limit=5, page_token=token))
    assert gateway.format.read == []


async def test_loading_reads_what_the_query_then_finds(gateway: MemoryGateway) -> None:
    executes = queries(gateway)
    travelled = replace(ALL, travel=TimeTravel(version=0))
    await executes.load(ACME, TABLE, travelled)
    assert gateway.format.read == ["latest"]
    with pytest.raises(UnsupportedOperation, match="time travel"):
        await executes.load(ACME, shared_table(), travelled)
