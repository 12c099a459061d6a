"""The versions of a range, and the positions where its pages continue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.gateways.memory_gateway import KEYS, MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_grants import ACME, RIVAL
from support.process.clock import Clock
from support.tables.memory_tables import MemoryFormat, snapshot, time_of

from sluicegate.api import InvalidRequest, Principal, SharedTable
from sluicegate.protocols.delta_sharing.changes.request import Bound, ChangesRequest
from sluicegate.protocols.delta_sharing.changes.version_range import ChangeRanges, Position
from sluicegate.signing.opaque_tokens import TokenSigner

VERSIONS = [snapshot(version=number) for number in range(6)]
LATEST = VERSIONS[-1]
EARLY, LATE = time_of(0) - 1, time_of(5) + 1


FIRST, OPEN = Bound(0), Bound()


def request(
    what: Any = "feed", start: Bound = FIRST, end: Bound = OPEN, **options: Any
) -> ChangesRequest:
    return ChangesRequest(what, start, end, **options)


@pytest.fixture
def gateway() -> MemoryGateway:
    return memory_gateway(format=MemoryFormat(VERSIONS))


@pytest.fixture
def clock() -> Clock:
    return Clock(1_000)


@pytest.fixture
def ranges(gateway: MemoryGateway, clock: Clock) -> ChangeRanges:
    return ChangeRanges(gateway.reader, TokenSigner(KEYS, 60, clock))


async def position(
    ranges: ChangeRanges,
    gateway: MemoryGateway,
    changes_request: ChangesRequest,
    *,
    shared: SharedTable | None = None,
    principal: Principal = ACME,
) -> Position:
    table = await gateway.open(shared or shared_table(), principal)
    return await ranges.position(principal, table, changes_request, LATEST)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (Bound(0), Bound(), (0, 5)),
        (Bound(2), Bound(4), (2, 4)),
        (Bound(2), Bound(2), (2, 2)),
        (Bound(5), Bound(), (5, 5)),
        (Bound(5), Bound(99), (5, 5)),  # a feed may end after the latest version
        (Bound(timestamp=EARLY), Bound(), (0, 5)),
        (Bound(timestamp=time_of(2)), Bound(timestamp=time_of(3)), (2, 3)),
        (Bound(timestamp=time_of(2) + 1), Bound(timestamp=time_of(4) - 1), (3, 3)),
        (Bound(0), Bound(timestamp=time_of(5)), (0, 5)),
        (Bound(0), Bound(timestamp=LATE), (0, 5)),
    ],
)
async def test_the_bounds_of_a_feed(
    ranges: ChangeRanges, gateway: MemoryGateway, start: Bound, end: Bound, expected: tuple[int, int]
) -> None:
    found = await position(ranges, gateway, request(start=start, end=end))
    assert found == Position(*expected, latest=5, version=expected[0], index=0)


@pytest.mark.parametrize(
    ("changes_request", "says"),
    [
        (request(start=Bound(6)), "startingVersion 6 is beyond the latest version of the table, 5"),
        (request(start=Bound(3), end=Bound(2)), "ends at version 2, before it starts at 3"),
        (request("data", Bound(0), Bound(6)), "endingVersion 6 is beyond the latest version"),
        (request(start=Bound(timestamp=LATE)), "there is no version at this time"),
        (request(end=Bound(timestamp=EARLY)), "there is no version at this time"),
    ],
)
async def test_a_range_that_the_table_does_not_have_is_rejected(
    ranges: ChangeRanges, gateway: MemoryGateway, changes_request: ChangesRequest, says: str
) -> None:
    with pytest.raises(InvalidRequest, match=says):
        await position(ranges, gateway, changes_request)


async def test_a_stream_may_end_at_the_latest_version(
    ranges: ChangeRanges, gateway: MemoryGateway
) -> None:
    assert (await position(ranges, gateway, request("data", end=Bound(5)))).end == 5


async def test_a_time_before_the_first_shared_version_means_that_version(
    ranges: ChangeRanges, gateway: MemoryGateway
) -> None:
    shared = shared_table(start_version=3)
    changes_request = request(start=Bound(timestamp=EARLY))
    assert (await position(ranges, gateway, changes_request, shared=shared)).start == 3


async def test_a_version_before_the_first_shared_version_is_rejected(
    ranges: ChangeRanges, gateway: MemoryGateway
) -> None:
    shared = shared_table(start_version=3)
    assert (await position(ranges, gateway, request(start=Bound(3)), shared=shared)).start == 3
    with pytest.raises(InvalidRequest, match="version 2 is not shared"):
        await position(ranges, gateway, request(start=Bound(2)), shared=shared)


REST = Position(start=1, end=4, latest=5, version=2, index=7)


async def test_a_token_continues_where_it_was_issued(
    ranges: ChangeRanges, gateway: MemoryGateway
) -> None:
    changes_request = request(start=Bound(1), max_files=3)
    token = ranges.next_page(ACME, shared_table(), changes_request, REST)
    gateway.format.read.clear()
    later = replace(changes_request, page_token=token, max_files=9)
    assert await position(ranges, gateway, later) == REST
    assert gateway.format.read == []  # the range is not resolved again


@pytest.mark.parametrize(
    ("changed", "shared", "principal"),
    [
        ({"start": Bound(2)}, shared_table(), ACME),
        ({"what": "data"}, shared_table(), ACME),
        ({}, replace(shared_table(), id="t-other"), ACME),
        ({}, shared_table(), RIVAL),
    ],
    ids=["range", "kind", "table", "recipient"],
)
async def test_a_token_is_bound_to_request_table_and_recipient(
    ranges: ChangeRanges,
    gateway: MemoryGateway,
    changed: dict[str, Any],
    shared: SharedTable,
    principal: Principal,
) -> None:
    changes_request = request(start=Bound(1))
    token = ranges.next_page(ACME, shared_table(), changes_request, REST)
    other = replace(changes_request, page_token=token, **changed)
    with pytest.raises(InvalidRequest, match="pageToken is not valid for this request"):
        await position(ranges, gateway, other, shared=shared, principal=principal)


async def test_a_token_expires(ranges: ChangeRanges, gateway: MemoryGateway, clock: Clock) -> None:
    changes_request = request(start=Bound(1))
    changes_request = replace(
        changes_request, page_token=ranges.next_page(ACME, shared_table(), changes_request, REST)
    )
    clock.advance(60)
    assert await position(ranges, gateway, changes_request) == REST
    clock.advance(1)
    with pytest.raises(InvalidRequest, match="pageToken has expired"):
        await position(ranges, gateway, changes_request)


async def test_a_token_does_not_outlast_a_later_first_version(
    ranges: ChangeRanges, gateway: MemoryGateway
) -> None:
    changes_request = request(start=Bound(1))
    changes_request = replace(
        changes_request, page_token=ranges.next_page(ACME, shared_table(), changes_request, REST)
    )
    with pytest.raises(InvalidRequest, match="version 1 is not shared"):
        await position(ranges, gateway, changes_request, shared=shared_table(start_version=2))
