"""Queries that are answered at once or with an id to poll."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest
from support.gateways.memory_gateway import KEYS, MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_grants import ACME, RIVAL
from support.process.clock import Clock
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate.api import (
    InvalidRequest,
    NotFound,
    SharedTable,
    TableUnreadable,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate.protocols.delta_sharing.directory_access.offer import DirectoryAccess
from sluicegate.protocols.delta_sharing.negotiation import parse
from sluicegate.protocols.delta_sharing.query.async_queries import Address, AsyncQueries
from sluicegate.protocols.delta_sharing.query.execute import TableQueries
from sluicegate.protocols.delta_sharing.query.response_cache import ResponseCache
from sluicegate.protocols.delta_sharing.query.tokens import Continuations
from sluicegate.protocols.delta_sharing.request import QueryRequest, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.response import SharingResponse
from sluicegate.protocols.delta_sharing.view import Viewer
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner

TABLE = shared_table(history=True)
ADDRESS = Address(ACME, ("sales", "eu", "orders"))
LATEST = TimeTravel()
REQUEST = QueryRequest(LATEST, idempotency_key="k1")
POLL = QueryRequest(LATEST)
FORM = ResponseOptions(parse("asyncquery=true"))
DAY = 86_400
QUERY_KEYS = KEYS.derive("query ids")


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway(TABLE, format=MemoryFormat([snapshot(file("a"), file("b"))]))


@pytest.fixture
def clock() -> Clock:
    return Clock(100 * DAY)


class SubmittedQueries:
    """Queries under test, and what they were submitted with."""

    def __init__(self, gateway: MemoryGateway, clock: Clock, keys: KeyRing = QUERY_KEYS) -> None:
        self.found: SharedTable | Exception = TABLE
        viewer = Viewer(gateway.resolver, gateway.reader, DirectoryAccess(gateway.instances))
        pages = TokenSigner(KEYS, 60)
        self._queries = TableQueries(
            viewer,
            gateway.signer,
            Continuations(pages, pages),
            ResponseCache(0),
            gateway.reader.encoded,
        )
        self._format = gateway.format
        self._tested = AsyncQueries(self._table_queries, keys, BackgroundJobs(), 0, clock)

    @property
    def tested(self) -> AsyncQueries:
        """The queries. They wait for snapshots only while these can be loaded."""
        closed = self._format.closed
        self._tested._threshold = 60 if closed is None or closed.is_set() else 0.001
        return self._tested

    async def submit(self, request: QueryRequest = REQUEST, **options: Any) -> SharingResponse:
        given: dict[str, Any] = {"address": ADDRESS, "form": FORM, **options}
        return await self.tested.submit(given["address"], self._find, request, given["form"])

    async def info(self, query_id: str, paging: QueryRequest = POLL, **options: Any) -> SharingResponse:
        given: dict[str, Any] = {"address": ADDRESS, "form": FORM, **options}
        return await self.tested.info(given["address"], self._find, query_id, paging, given["form"])

    async def pending(self, request: QueryRequest = REQUEST, **options: Any) -> str:
        """The id of a query that is pending."""
        (status,) = await lines(await self.submit(request, **options))
        assert status["queryStatus"]["status"] == "pending"
        query_id: str = status["queryStatus"]["queryId"]
        return query_id

    async def _find(self) -> SharedTable:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    async def _table_queries(self) -> TableQueries:
        return self._queries


@pytest.fixture
def queries(gateway: MemoryGateway, clock: Clock) -> SubmittedQueries:
    return SubmittedQueries(gateway, clock)


@pytest.fixture
def slow(gateway: MemoryGateway) -> asyncio.Event:
    """Snapshots are loaded once this is set."""
    gateway.format.closed = asyncio.Event()
    return gateway.format.closed


async def lines(response: SharingResponse) -> list[dict[str, Any]]:
    return [json.loads(text) async for part in response.lines for text in part.splitlines()]


async def kinds(response: SharingResponse) -> list[str]:
    return [next(iter(line)) for line in await lines(response)]


async def test_a_quick_query_returns_at_once(queries: SubmittedQueries) -> None:
    assert await kinds(await queries.submit()) == ["protocol", "metaData", "file", "file"]


async def test_a_query_needs_an_idempotency_key(
    queries: SubmittedQueries, gateway: MemoryGateway
) -> None:
    with pytest.raises(InvalidRequest, match="needs an idempotencyKey"):
        await queries.submit(replace(REQUEST, idempotency_key=None))
    assert gateway.format.read == []


async def test_a_slow_query_is_pending_until_its_snapshot_is_loaded(
    queries: SubmittedQueries, gateway: MemoryGateway, slow: asyncio.Event
) -> None:
    response = await queries.submit()
    assert response.headers == {
        "Delta-Table-Version": "0",
        "delta-sharing-capabilities": "responseformat=parquet;asyncquery=true",
    }
    ((_, status),) = (await lines(response))[0].items()
    query_id = status.pop("queryId")
    assert status == {"status": "pending"}
    assert await lines(await queries.info(query_id)) == [
        {"queryStatus": {"queryId": query_id, "status": "pending"}}
    ]
    slow.set()
    assert await kinds(await queries.info(query_id)) == ["protocol", "metaData", "file", "file"]
    assert gateway.format.read[0] == "latest"


async def test_polls_join_the_load_that_the_query_started(
    queries: SubmittedQueries, gateway: MemoryGateway, slow: asyncio.Event
) -> None:
    query_id = await queries.pending()
    await queries.info(query_id)
    await queries.info(query_id)
    assert gateway.format.read == ["latest"]


@pytest.mark.usefixtures("slow")
async def test_the_same_request_has_the_same_id_for_a_day(
    queries: SubmittedQueries, clock: Clock
) -> None:
    query_id = await queries.pending()
    assert await queries.pending() == query_id
    clock.advance(DAY - 1)
    assert await queries.pending() == query_id
    clock.advance(1)
    assert await queries.pending() != query_id


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    "changed",
    [
        {"idempotency_key": "k2"},
        {"limit": 5},
        {"sql_hints": ("a = 1",)},
        {"json_hints": "{}"},
        {"travel": TimeTravel(version=0)},
        {"travel": TimeTravel(timestamp=0)},
        {"include_refresh_token": True},
    ],
)
async def test_another_request_has_another_id(
    queries: SubmittedQueries, changed: dict[str, Any]
) -> None:
    assert await queries.pending(replace(REQUEST, **changed)) != await queries.pending()


@pytest.mark.usefixtures("slow")
async def test_an_id_is_bound_to_recipient_and_table(queries: SubmittedQueries) -> None:
    query_id = await queries.pending()
    for address in (replace(ADDRESS, principal=RIVAL), replace(ADDRESS, names=("sales", "eu", "x"))):
        with pytest.raises(NotFound, match="does not exist or has expired: send the query again"):
            await queries.info(query_id, address=address)
    upper = replace(ADDRESS, names=("SALES", "EU", "ORDERS"))
    assert await kinds(await queries.info(query_id, address=upper)) == ["queryStatus"]


async def test_names_of_an_address_are_not_mixed_up() -> None:
    assert Address(ACME, ("a", "b", "c")).key != Address(ACME, ("a", "c", "b")).key
    assert Address(ACME, ("A", "b", "c")).key == Address(ACME, ("a", "B", "C")).key


@pytest.mark.parametrize("query_id", ["", "x", "ü", "AAAA", "A" * 60, "a b", "../x", "=", "A==="])
async def test_an_id_that_nobody_issued_is_not_found(queries: SubmittedQueries, query_id: str) -> None:
    with pytest.raises(NotFound):
        await queries.info(query_id)


async def test_an_id_that_was_changed_is_not_found(
    queries: SubmittedQueries, slow: asyncio.Event
) -> None:
    query_id = await queries.pending()
    slow.set()
    for at in (0, 10, len(query_id) - 2):
        changed = query_id[:at] + ("A" if query_id[at] != "A" else "B") + query_id[at + 1 :]
        with pytest.raises(NotFound):
            await queries.info(changed)
    for stray in ("!", "ü", "=", "!!!!", "    "):  # four leave the padding as it is
        with pytest.raises(NotFound):
            await queries.info(f"{query_id[:8]}{stray}{query_id[8:]}")
    assert "file" in await kinds(await queries.info(query_id))


@pytest.mark.parametrize(("days", "is_valid"), [(0, True), (1, True), (2, False)])
async def test_an_id_is_valid_until_the_end_of_the_next_day(
    queries: SubmittedQueries, slow: asyncio.Event, clock: Clock, days: int, is_valid: bool
) -> None:
    clock.advance(DAY - 1)
    query_id = await queries.pending()
    slow.set()
    clock.now = (100 + days) * DAY + DAY - 1
    if is_valid:
        assert "file" in await kinds(await queries.info(query_id))
    else:
        with pytest.raises(NotFound):
            await queries.info(query_id)


async def test_any_replica_serves_an_id(
    queries: SubmittedQueries, slow: asyncio.Event, gateway: MemoryGateway, clock: Clock
) -> None:
    query_id = await queries.pending()
    slow.set()
    rotated = SubmittedQueries(gateway, clock, KeyRing((b"n" * 32, *QUERY_KEYS.keys)))
    assert "file" in await kinds(await rotated.info(query_id))
    with pytest.raises(NotFound):
        await SubmittedQueries(gateway, clock, KeyRing((b"n" * 32,))).info(query_id)


async def test_a_poll_has_the_options_of_the_query(
    queries: SubmittedQueries, slow: asyncio.Event
) -> None:
    form = replace(FORM, file_id_hash="delta")
    request = replace(REQUEST, travel=TimeTravel(version=0), limit=0, include_refresh_token=True)
    response = await queries.submit(request, form=form)
    assert response.headers["fileidhash"] == "delta"
    query_id = (await lines(response))[0]["queryStatus"]["queryId"]
    slow.set()
    polled = await queries.info(query_id)
    assert polled.headers["fileidhash"] == "delta"
    found = await lines(polled)
    assert [next(iter(line)) for line in found] == ["protocol", "metaData", "endStreamAction"]
    assert found[1]["metaData"]["version"] == 0
    assert "refreshToken" in found[-1]["endStreamAction"]
    chosen = await queries.info(query_id, form=replace(FORM, file_id_hash="parquet"))
    assert chosen.headers["fileidhash"] == "parquet"


async def test_pages_of_a_poll_are_never_pending(
    queries: SubmittedQueries, slow: asyncio.Event, gateway: MemoryGateway
) -> None:
    query_id = await queries.pending(replace(REQUEST, include_refresh_token=True))
    slow.set()
    first = await lines(await queries.info(query_id, replace(POLL, max_files=1)))
    end = first[-1]["endStreamAction"]
    assert "refreshToken" in end
    gateway.format.closed = asyncio.Event()
    following = replace(POLL, max_files=1, page_token=end["nextPageToken"])
    later = asyncio.create_task(queries.info(query_id, following))
    await asyncio.sleep(0.01)
    assert not later.done()
    gateway.format.closed.set()
    found = await lines(await later)
    assert [next(iter(line)) for line in found] == ["protocol", "metaData", "file", "endStreamAction"]
    assert "refreshToken" not in found[-1]["endStreamAction"]


async def test_a_query_that_continues_is_never_pending(
    queries: SubmittedQueries, slow: asyncio.Event
) -> None:
    slow.set()
    first = await lines(await queries.submit(replace(REQUEST, include_refresh_token=True)))
    slow.clear()
    token = first[-1]["endStreamAction"]["refreshToken"]
    again = asyncio.create_task(queries.submit(replace(REQUEST, refresh_token=token)))
    await asyncio.sleep(0.01)
    assert not again.done()
    slow.set()
    assert "file" in await kinds(await again)


async def test_a_query_that_is_too_long_for_an_id_is_never_pending(
    queries: SubmittedQueries, slow: asyncio.Event
) -> None:
    hints = tuple(f"id = {number * 7919 % 10_007}" for number in range(2_000))
    query = asyncio.create_task(queries.submit(replace(REQUEST, sql_hints=hints)))
    await asyncio.sleep(0.02)
    assert not query.done()
    slow.set()
    assert await kinds(await query) == ["protocol", "metaData", "file", "file"]


@pytest.mark.parametrize(
    "failure", [Unavailable("down", detail="10.0.0.7"), TableUnreadable("damaged")]
)
async def test_a_query_that_fails_in_the_background_has_a_status(
    queries: SubmittedQueries,
    slow: asyncio.Event,
    gateway: MemoryGateway,
    failure: Unavailable | TableUnreadable,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    query_id = await queries.pending()
    gateway.format.failure = failure
    slow.set()
    response = await queries.info(query_id)
    assert await lines(response) == [
        {
            "queryStatus": {
                "queryId": query_id,
                "status": "failed",
                "errorCode": failure.code,
                "errorMessage": failure.message,
            }
        }
    ]
    assert failure.for_operators in caplog.text


async def test_a_failure_of_a_quick_query_is_an_error(
    queries: SubmittedQueries, gateway: MemoryGateway
) -> None:
    gateway.format.failure = Unavailable("down")
    with pytest.raises(Unavailable):
        await queries.submit()


async def test_a_request_that_is_not_valid_is_an_error_also_for_polls(
    queries: SubmittedQueries, slow: asyncio.Event
) -> None:
    query_id = await queries.pending(replace(REQUEST, travel=TimeTravel(version=0)))
    slow.set()
    await asyncio.sleep(0.01)
    queries.found = shared_table()  # its history is not shared any more
    with pytest.raises(UnsupportedOperation, match="time travel"):
        await queries.info(query_id)


async def test_every_poll_looks_the_table_up(queries: SubmittedQueries, slow: asyncio.Event) -> None:
    query_id = await queries.pending()
    slow.set()
    queries.found = NotFound("there is no table")
    with pytest.raises(NotFound, match="there is no table"):
        await queries.info(query_id)


async def test_a_table_that_is_not_found_is_an_error(queries: SubmittedQueries) -> None:
    queries.found = NotFound("there is no table")
    with pytest.raises(NotFound, match="there is no table"):
        await queries.submit()
