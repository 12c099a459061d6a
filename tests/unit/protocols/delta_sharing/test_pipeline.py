"""The pipeline's steps get the settings and the keys that are theirs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.gateways.memory_gateway import KEYS, MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.gateways.memory_sharing import remaining_lifetime
from support.gateways.parts import gateway_parts
from support.tables.memory_tables import FEED, Made, MemoryFormat, change, file, snapshot

from sluicegate.api import FormatType, InvalidRequest
from sluicegate.config import Settings
from sluicegate.plugins import Instances, Registry
from sluicegate.plugins.configured import ConfiguredInstances
from sluicegate.plugins.context import NoLinks
from sluicegate.protocols.delta_sharing.changes.request import Bound, ChangesRequest
from sluicegate.protocols.delta_sharing.negotiation import parse
from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
from sluicegate.protocols.delta_sharing.request import QueryRequest, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.response import VERSION_HEADER, SharingResponse
from sluicegate.signing.keyring import KeyRing

pytestmark = pytest.mark.usefixtures("same_allocators")
TABLE = shared_table(history=True, change_feed=True)
SETTINGS = Settings.model_validate(
    {
        "sharing": {
            "presigned_url_ttl": "17m",
            "refresh_token_lifetime": "9h",
        }
    }
)
FORM = ResponseOptions(parse(None))
QUERY = QueryRequest(TimeTravel(), max_files=1, include_refresh_token=True)
REFRESHED = QueryRequest(TimeTravel(), include_refresh_token=True)


@pytest.fixture
def gateway() -> MemoryGateway:
    versions = [snapshot(file("a"), file("b"), metadata=FEED)]
    history = [Made(0, [change("add", "a"), change("add", "b")])]
    return memory_gateway(TABLE, format=MemoryFormat(versions, history))


def _noted(made: list[str], name: str) -> MemoryFormat:
    made.append(name)
    return MemoryFormat()


def pipeline(gateway: MemoryGateway, keys: KeyRing = KEYS) -> QueryPipeline:
    return QueryPipeline.build(gateway_parts(gateway, SETTINGS, keys=keys))


async def end_of(response: SharingResponse) -> dict[str, Any]:
    lines = [json.loads(text) async for part in response.lines for text in part.splitlines()]
    end: dict[str, Any] = lines[-1]["endStreamAction"]
    return end


async def test_urls_and_tokens_have_the_configured_lifetimes(gateway: MemoryGateway) -> None:
    end = await end_of(await pipeline(gateway).queries.query(ACME, TABLE, QUERY, FORM))
    assert gateway.storage.lifetimes == [17 * 60]
    assert remaining_lifetime(end["nextPageToken"]) == pytest.approx(3600, abs=30)
    assert remaining_lifetime(end["refreshToken"]) == pytest.approx(9 * 3600, abs=30)


async def test_pages_of_changes_have_the_lifetime_of_page_tokens(gateway: MemoryGateway) -> None:
    request = ChangesRequest("feed", Bound(0), Bound(), max_files=1)
    end = await end_of(await pipeline(gateway).changes.answer(ACME, TABLE, request, FORM))
    assert remaining_lifetime(end["nextPageToken"]) == pytest.approx(3600, abs=30)
    assert gateway.storage.lifetimes == [17 * 60]


async def test_a_page_token_does_not_refresh(gateway: MemoryGateway) -> None:
    queries = pipeline(gateway).queries
    end = await end_of(await queries.query(ACME, TABLE, QUERY, FORM))
    request = QueryRequest(TimeTravel(), refresh_token=end["nextPageToken"])
    with pytest.raises(InvalidRequest, match="refreshToken is not valid"):
        await queries.query(ACME, TABLE, request, FORM)


@pytest.mark.parametrize(("keys", "is_valid"), [(KEYS, True), (KeyRing((b"n" * 32,)), False)])
async def test_refresh_tokens_are_signed_with_the_keys_of_the_gateway(
    gateway: MemoryGateway, keys: KeyRing, is_valid: bool
) -> None:
    end = await end_of(await pipeline(gateway).queries.query(ACME, TABLE, REFRESHED, FORM))
    request = QueryRequest(TimeTravel(), refresh_token=end["refreshToken"])
    queries = pipeline(gateway, keys).queries
    if is_valid:
        await queries.query(ACME, TABLE, request, FORM)
    else:
        with pytest.raises(InvalidRequest, match="refreshToken is not valid"):
            await queries.query(ACME, TABLE, request, FORM)


async def test_all_steps_see_the_same_tables(gateway: MemoryGateway) -> None:
    steps = pipeline(gateway)
    assert await steps.viewer.version(ACME, TABLE, None) == 0
    await steps.queries.metadata(ACME, TABLE, TimeTravel(), FORM)
    request = ChangesRequest("data", Bound(0), Bound(), historical_metadata=True)
    await steps.changes.answer(ACME, TABLE, request, FORM)
    assert gateway.format.read.count("changes 0 to 0") == 1


def test_building_loads_what_the_first_request_would_wait_for(
    gateway: MemoryGateway, same_allocators: list[str]
) -> None:
    made: list[str] = []

    def make(name: str) -> FormatType:
        return FormatType(name, lambda: _noted(made, name))

    registry = Registry([])
    configured = ConfiguredInstances((), (), ())
    gateway.instances = Instances(
        registry, configured, links=NoLinks, formats=[make("delta"), make("other")]
    )
    assert made == []
    pipeline(gateway)
    assert (made, same_allocators) == (["delta", "other"], ["pipeline"])


async def test_complete_lines_are_one_part_of_the_stream() -> None:
    response = SharingResponse.whole({VERSION_HEADER: "3"}, b"a\nb\n")
    assert response.headers == {"Delta-Table-Version": "3"}
    assert response.body == b"a\nb\n"
    assert [part async for part in response.lines] == [b"a\nb\n"]


async def test_the_stream_of_complete_lines_ends() -> None:
    response = SharingResponse.whole({}, b"")
    assert [part async for part in response.lines] == [b""]
    assert [part async for part in response.lines] == []
