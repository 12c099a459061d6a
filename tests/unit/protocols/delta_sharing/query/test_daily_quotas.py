"""Queries count the files that they offer, before anything is signed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.gateways.cached_queries import ALL, CachedQueries
from support.gateways.memory_gateway import memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.api.errors import RateLimited
from sluicegate.config.sections.limits import RecipientLimitSettings
from sluicegate.protocols.delta_sharing.query.selection import FIRST_BATCH_ROWS

FILES = 100
SIZE = 10
BYTES = FILES * SIZE


def queries(**limits: Any) -> tuple[CachedQueries, RecipientLimiter]:
    rows = [file(f"{number:03}", size=SIZE, stats='{"numRecords":1}') for number in range(FILES)]
    gateway = memory_gateway(format=MemoryFormat([snapshot(*rows)]))
    limiter = RecipientLimiter(RecipientLimitSettings.model_validate(limits))
    gateway.vending.limiter = limiter
    return CachedQueries(gateway, shared_table()), limiter


def offered(limiter: RecipientLimiter) -> tuple[int, int]:
    used = limiter.use.of(ACME.id, limiter.today)
    return used.files, used.bytes


@pytest.mark.parametrize("limits", [{"files_per_day": FILES - 1}, {"bytes_per_day": BYTES - 1}])
async def test_nothing_is_signed_and_counted_for_a_refused_query(limits: dict[str, int]) -> None:
    made, limiter = queries(**limits)
    with pytest.raises(RateLimited):
        await made.respond()
    assert made.signed == 0
    assert offered(limiter) == (0, 0)


@pytest.mark.parametrize("limit", [{"files_per_day": 10 * FILES}, {"bytes_per_day": 10 * BYTES}])
async def test_new_and_cached_answers_count_files_and_bytes(limit: dict[str, int]) -> None:
    made, limiter = queries(**limit)
    first = await made.body()
    assert offered(limiter) == (FILES, BYTES)
    signed = made.signed
    assert await made.body() == first
    assert made.signed == signed
    assert offered(limiter) == (2 * FILES, 2 * BYTES)


async def test_a_cached_answer_beyond_the_quota_is_refused() -> None:
    made, limiter = queries(files_per_day=2 * FILES - 1)
    await made.body()
    with pytest.raises(RateLimited, match=f"it got {FILES} today"):
        await made.respond()
    assert offered(limiter) == (FILES, BYTES)


async def test_an_answer_that_another_recipients_query_made_counts() -> None:
    made, limiter = queries()
    await made.body()
    limiter.adopt({ACME.id: {"files_per_day": FILES - 1}})
    with pytest.raises(RateLimited):
        await made.respond()


async def test_pages_count_their_own_files() -> None:
    made, limiter = queries(files_per_day=FILES)
    await made.body(replace(ALL, max_files=30))
    assert offered(limiter) == (30, 30 * SIZE)


async def test_a_limit_hint_counts_only_the_files_that_it_needs() -> None:
    made, limiter = queries(files_per_day=FILES)
    await made.body(replace(ALL, limit=5))
    assert offered(limiter) == (5, 5 * SIZE)


async def test_an_answer_of_unknown_length_ends_where_the_quota_does() -> None:
    made, limiter = queries(files_per_day=FIRST_BATCH_ROWS)
    response = await made.respond(replace(ALL, limit=FILES))
    received = bytearray()

    async def receive() -> None:
        async for part in response.lines:
            received.extend(part)

    with pytest.raises(RateLimited):
        await receive()
    assert received.count(b'"url"') == FIRST_BATCH_ROWS
    assert offered(limiter) == (FIRST_BATCH_ROWS, FIRST_BATCH_ROWS * SIZE)
    with pytest.raises(RateLimited):
        await made.respond(replace(ALL, limit=FILES))
