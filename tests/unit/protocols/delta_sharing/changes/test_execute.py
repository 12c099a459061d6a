"""Requests for a range of versions, from the request to the last line of the response."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.gateways.memory_gateway import KEYS, MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import EXPIRES
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import FEED, Made, MemoryFormat, Row, change, snapshot

from sluicegate.api import InvalidRequest, NotFound, SharedTable, StorageError, UnsupportedOperation
from sluicegate.protocols.delta_sharing.changes.execute import ChangeQueries
from sluicegate.protocols.delta_sharing.changes.request import Bound, ChangesRequest
from sluicegate.protocols.delta_sharing.changes.version_range import ChangeRanges
from sluicegate.protocols.delta_sharing.negotiation import parse
from sluicegate.protocols.delta_sharing.request import ResponseOptions
from sluicegate.protocols.delta_sharing.response import SharingResponse
from sluicegate.signing.opaque_tokens import TokenSigner

ALL = shared_table(history=True, change_feed=True)
FROM_0 = ChangesRequest("feed", Bound(0), Bound())
WITH_END = "includeendstreamaction=true"
WIDER = table_metadata(
    [schema_field("id", "long"), schema_field("name", "string")],
    **{"delta.enableChangeDataFeed": "true"},
)


def history(*paths: str) -> MemoryFormat:
    """One version for each path, which adds it."""
    rows: list[list[Row]] = [[change("add", path)] for path in paths]
    return MemoryFormat(
        [snapshot(version=version, metadata=FEED) for version in range(len(paths))],
        [Made(version, each) for version, each in enumerate(rows)],
    )


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway(ALL, format=history("a", "b", "c"))


def queries(gateway: MemoryGateway) -> ChangeQueries:
    ranges = ChangeRanges(gateway.reader, TokenSigner(KEYS, 60))
    return ChangeQueries(gateway.resolver, gateway.reader, gateway.signer, ranges)


async def answer(
    gateway: MemoryGateway,
    request: ChangesRequest = FROM_0,
    *,
    header: str | None = None,
    shared: SharedTable = ALL,
    file_id_hash: str | None = None,
) -> SharingResponse:
    form = ResponseOptions(parse(header), file_id_hash)
    return await queries(gateway).answer(ACME, shared, request, form)


async def lines(response: SharingResponse) -> list[dict[str, Any]]:
    return [json.loads(text) async for part in response.lines for text in part.splitlines()]


def paths(found: list[dict[str, Any]]) -> list[str]:
    return [line["add"]["url"].rpartition("/")[2] for line in found if "add" in line]


async def test_the_response_has_the_first_version_and_all_changes(gateway: MemoryGateway) -> None:
    response = await answer(gateway, replace(FROM_0, start=Bound(1)))
    assert response.headers == {
        "Delta-Table-Version": "1",
        "delta-sharing-capabilities": "responseformat=parquet",
    }
    found = await lines(response)
    assert [next(iter(line)) for line in found] == ["protocol", "metaData", "add", "add"]
    assert paths(found) == ["b", "c"]


async def test_the_choice_of_file_ids_is_echoed(gateway: MemoryGateway) -> None:
    assert (await answer(gateway, file_id_hash="delta")).headers["fileidhash"] == "delta"


async def test_a_last_line_comes_if_the_header_requests_it(gateway: MemoryGateway) -> None:
    response = await answer(gateway, header=WITH_END)
    assert "includeendstreamaction=true" in response.headers["delta-sharing-capabilities"]
    assert (await lines(response))[-1] == {"endStreamAction": {"minUrlExpirationTimestamp": EXPIRES}}


async def test_pages_end_with_a_token_until_the_last(gateway: MemoryGateway) -> None:
    request = replace(FROM_0, max_files=2)
    *first, end = await lines(await answer(gateway, request))
    token = end["endStreamAction"]["nextPageToken"]
    *second, last = await lines(await answer(gateway, replace(request, page_token=token)))
    assert (paths(first), paths(second)) == (["a", "b"], ["c"])
    assert first[:2] == second[:2]
    assert last == {"endStreamAction": {"minUrlExpirationTimestamp": EXPIRES}}


async def test_every_page_has_the_schema_of_the_first(gateway: MemoryGateway) -> None:
    request = replace(FROM_0, max_files=2)
    *first, end = await lines(await answer(gateway, request))
    token = end["endStreamAction"]["nextPageToken"]
    form = gateway.format
    form.versions = [*form.versions, snapshot(version=3, metadata=WIDER)]
    form.history = [*form.history, Made(3, [change("add", "d")], metadata=WIDER)]
    *second, _ = await lines(await answer(gateway, replace(request, page_token=token)))
    assert first[:2] == second[:2]
    assert paths(second) == ["c"]  # the range also ends where it did


async def test_a_store_that_cannot_sign_is_an_error_instead_of_a_response(
    gateway: MemoryGateway,
) -> None:
    gateway.storage.failure = StorageError("the store is down")
    with pytest.raises(StorageError):
        await answer(gateway)


async def test_a_store_that_fails_later_is_the_last_line() -> None:
    rows = [change("add", f"{number:03}") for number in range(100)]
    gateway = memory_gateway(ALL, format=MemoryFormat([snapshot(metadata=FEED)], [Made(0, rows)]))
    response = await answer(gateway, header=WITH_END)
    gateway.storage.failure = StorageError("the store is down", detail="private")
    last = (await lines(response))[-1]
    assert last == {
        "endStreamAction": {"errorMessage": "the store is down", "httpStatusErrorCode": 503}
    }


async def test_a_range_without_files_has_its_head(gateway: MemoryGateway) -> None:
    gateway.format.history = [Made(0), Made(1), Made(2)]
    found = await lines(await answer(gateway, header=WITH_END))
    assert [next(iter(line)) for line in found] == ["protocol", "metaData", "endStreamAction"]
    assert found[-1] == {"endStreamAction": {}}


STREAM = replace(FROM_0, what="data", historical_metadata=True)


@pytest.mark.parametrize(
    ("request_", "options", "says"),
    [
        (STREAM, {}, "startingVersion cannot be used"),
        (STREAM, {"change_feed": True}, "startingVersion cannot be used"),
        (FROM_0, {}, "the change data feed cannot be used"),
        (FROM_0, {"change_feed": True}, "the change data feed cannot be used"),
        (FROM_0, {"history": True}, "the change data feed of sales.eu.orders is not shared"),
    ],
)
async def test_what_is_not_shared_is_refused_before_the_table_is_read(
    gateway: MemoryGateway, request_: ChangesRequest, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(UnsupportedOperation, match=says):
        await answer(gateway, request_, shared=shared_table(**options))
    assert gateway.format.read == []


async def test_a_stream_needs_no_change_data_feed(gateway: MemoryGateway) -> None:
    found = await lines(await answer(gateway, STREAM, shared=shared_table(history=True)))
    assert paths(found) == ["a", "b", "c"]


async def test_a_range_after_the_latest_version_is_rejected(gateway: MemoryGateway) -> None:
    with pytest.raises(InvalidRequest, match="beyond the latest version of the table, 2"):
        await answer(gateway, replace(FROM_0, start=Bound(3)))


async def test_a_table_that_its_catalog_no_longer_has_is_not_found(gateway: MemoryGateway) -> None:
    del gateway.catalog["orders"]
    with pytest.raises(NotFound, match="orders no longer exists"):
        await answer(gateway)


async def test_urls_are_recorded_in_the_ledger(gateway: MemoryGateway) -> None:
    await lines(await answer(gateway))
    entry = gateway.ledger.noted[-1]
    assert (entry.kind, entry.recipient, entry.files, entry.expires_at) == ("urls", "acme", 3, EXPIRES)
