"""The cache keeps a limited amount of responses, for a limited time."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.gateways.cached_queries import NOW
from support.gateways.memory_gateway import LIFETIME
from support.tables.memory_tables import file, snapshot

from sluicegate.http.compression import BodyEnd
from sluicegate.protocols.delta_sharing.query import response_cache as module
from sluicegate.protocols.delta_sharing.query.response_cache import (
    LONGEST_REUSE,
    CachedResponse,
    EncodedFiles,
    ResponseCache,
)
from sluicegate.protocols.delta_sharing.query.response_key import ResponseKeys
from sluicegate.protocols.delta_sharing.query.tokens import Continuation
from sluicegate.protocols.presigning.signer import IssuedUrls
from sluicegate.tables.snapshot import Snapshot

BUDGET = 1_000
EXPIRES = NOW + LIFETIME * 1000
VERSION = snapshot(file("a.parquet"))


def keys(number: int = 0) -> ResponseKeys:
    """The keys of a query, which are different for each number."""
    key: Any = f"key {number}"
    return ResponseKeys(key, None)


def response(weight: int = 100, about: Snapshot = VERSION, expires: int = EXPIRES) -> CachedResponse:
    issued = IssuedUrls(1, expires, expires, personal=False)
    outcome = EncodedFiles(BodyEnd(None), issued, None)
    return CachedResponse((b"lines",), outcome, NOW, weakref.ref(about), weight)


def cache(clock: Callable[[], int] = lambda: NOW) -> ResponseCache:
    return ResponseCache(BUDGET, now=clock)


async def test_a_quarter_of_the_budget_is_for_recording() -> None:
    found = cache()
    assert found.reserve(250)
    assert not found.reserve(1)
    found.release(250)
    assert not found.reserve(251)
    for number in range(10):
        found.put(keys(number), response(weight=250))
    assert found.weight == 750


async def test_the_least_recently_used_response_is_evicted() -> None:
    found = cache()
    first, second, third, fourth = [keys(number) for number in range(4)]
    for each in (first, second, third):
        found.put(each, response(weight=250))
    assert found.get(first, VERSION) is not None
    found.put(fourth, response(weight=250))
    assert [found.get(each, VERSION) is None for each in (first, second, third, fourth)] == [
        False,
        True,
        False,
        False,
    ]


async def test_the_snapshot_is_not_kept_in_memory() -> None:
    found, key, about = cache(), keys(), snapshot(file("b.parquet"))
    found.put(key, response(about=about))
    gone = weakref.ref(about)
    del about
    gc.collect()
    assert gone() is None
    assert found.get(key, VERSION) is None


async def test_what_can_not_be_used_is_released_without_a_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LONGEST_REUSE", 10)
    moment = [NOW]
    found = cache(lambda: moment[0])
    found.put(keys(0), response())
    moment[0] = NOW + LONGEST_REUSE
    async with asyncio.timeout(10):
        while found.weight:  # noqa: ASYNC110 (a timer of the event loop)
            await asyncio.sleep(0.01)


async def test_a_new_response_replaces_an_equal_one() -> None:
    found, key = cache(), keys()
    newer = response(weight=300)
    found.put(key, response())
    found.put(key, newer)
    assert found.get(key, VERSION) is newer
    assert found.weight == 300


@pytest.mark.parametrize(("age", "usable"), [(0, True), (299_999, True), (300_000, False), (-1, False)])
def test_when_a_response_is_usable(age: int, usable: bool) -> None:
    assert response().usable(NOW + age) is usable


def test_without_urls_a_response_is_usable_for_the_longest_time() -> None:
    issued = IssuedUrls(0, None, None, personal=False)
    found = replace(response(), outcome=EncodedFiles(BodyEnd(None), issued, Continuation()))
    assert found.usable(NOW + LONGEST_REUSE - 1)
    assert not found.usable(NOW + LONGEST_REUSE)


async def test_a_representation_contains_no_url() -> None:
    assert "lines" not in repr(response())


async def test_reuse_and_memory_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[str, str]] = []
    monkeypatch.setattr(module, "count", lambda name, *, outcome: counted.append((name, outcome)))
    measured: list[tuple[str, float]] = []
    monkeypatch.setattr(module, "gauge", lambda name, value: measured.append((name, value)))
    found = cache()
    found.get(keys(), VERSION)
    found.put(keys(), response(weight=300))
    found.get(keys(), VERSION)
    assert counted == [("sluicegate.answers", "made"), ("sluicegate.answers", "reused")]
    assert measured == [("sluicegate.answers.memory", 300)]
