"""Responses are recorded while they are sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.gateways.cached_queries import NOW
from support.gateways.memory_gateway import LIFETIME
from support.tables.memory_tables import snapshot

from sluicegate.http.compression import BodyEnd
from sluicegate.protocols.delta_sharing.query.response_cache import (
    CachedResponse,
    EncodedFiles,
    Recording,
    ResponseCache,
)
from sluicegate.protocols.delta_sharing.query.response_key import ResponseKeys
from sluicegate.protocols.presigning.signer import IssuedUrls

EXPIRES = NOW + LIFETIME * 1000
OUTCOME = EncodedFiles(BodyEnd(None), IssuedUrls(1, EXPIRES, EXPIRES, personal=False), None)
VERSION = snapshot()
KEYS: Any = ResponseKeys("key", None)  # type: ignore[arg-type]
BUDGET = 4_000_000


async def parts(*sizes: int, failure: Exception | None = None) -> AsyncIterator[bytes]:
    for size in sizes:
        yield bytes(size)
    if failure is not None:
        raise failure


async def recorded(*sizes: int, keys: Any = KEYS, budget: int = BUDGET) -> CachedResponse | None:
    """What the cache has after a response was sent."""
    cache = ResponseCache(budget, now=lambda: NOW)
    recording = Recording(cache, keys, VERSION)
    sent = [len(part) async for part in recording.record(parts(*sizes), lambda: OUTCOME)]
    assert sent == list(sizes)
    assert cache.recorded == 0
    return cache.get(KEYS, VERSION)


async def test_short_parts_are_joined_and_long_ones_stay() -> None:
    found = await recorded(400_000, 400_000, 400_000, 1_200_000, 1, budget=4 * BUDGET)
    assert found is not None
    assert [len(part) for part in found.parts] == [800_000, 400_000, 1_200_000, 1]


async def test_the_weight_includes_the_bytes_and_the_key() -> None:
    short, long = await recorded(10), await recorded(1_000)
    assert short is not None
    assert long is not None
    assert long.weight - short.weight == 990
    assert short.weight > 10 + len(repr(KEYS.personal))


async def test_a_response_without_keys_is_only_passed_on() -> None:
    assert await recorded(10, keys=None) is None


async def test_a_response_larger_than_a_quarter_of_the_budget_is_only_passed_on() -> None:
    assert await recorded(BUDGET // 4) is not None
    assert await recorded(BUDGET // 4, 1) is None


async def test_recordings_share_their_memory() -> None:
    cache = ResponseCache(400, now=lambda: NOW)
    first, second = [
        Recording(cache, KEYS, VERSION).record(parts(60, 1), lambda: OUTCOME) for _ in range(2)
    ]
    await anext(first)
    await anext(second)
    assert cache.recorded == 60
    assert [len(part) async for part in second] == [1]
    assert cache.recorded == 60


async def test_a_response_that_fails_is_not_kept() -> None:
    cache = ResponseCache(BUDGET, now=lambda: NOW)
    recording = Recording(cache, KEYS, VERSION)
    with pytest.raises(ValueError, match="a bug"):
        async for _ in recording.record(parts(10, failure=ValueError("a bug")), lambda: OUTCOME):
            pass
    assert (cache.recorded, cache.weight) == (0, 0)


async def test_a_response_that_is_closed_early_is_not_kept() -> None:
    cache = ResponseCache(BUDGET, now=lambda: NOW)
    sending = Recording(cache, KEYS, VERSION).record(parts(10, 10), lambda: OUTCOME)
    await anext(sending)
    await sending.aclose()  # type: ignore[attr-defined]
    assert (cache.recorded, cache.weight) == (0, 0)
