"""What is heavy is made once, when it is first needed, and not on the event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from sluicegate._util.lazy import LateMapping, Lazy


async def test_all_who_ask_get_the_one_value_made_in_another_thread() -> None:
    made = []

    def make() -> object:
        made.append(threading.get_ident())
        return object()

    late = Lazy(make)
    assert made == []
    values = await asyncio.gather(*(late.get() for _ in range(5)))
    assert len(set(map(id, values))) == 1
    assert len(made) == 1
    assert made != [threading.get_ident()]


async def test_what_failed_is_made_again_for_the_next_request() -> None:
    answers: list[int] = []
    late = Lazy(answers.pop)
    with pytest.raises(IndexError):
        await late.get()
    answers.append(7)
    assert await late.get() == 7


async def test_who_stops_waiting_does_not_wait_for_the_thread() -> None:
    slow = threading.Event()

    def make() -> int:
        slow.wait()
        return 7

    late = Lazy(make)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await late.get()
    assert late.made is None
    slow.set()
    assert await late.get() == 7
    assert late.made == 7


def test_a_mapping_makes_only_what_is_looked_up() -> None:
    first: list[int] = [1]
    second: list[int] = [2]
    mapping = LateMapping({"a": first.pop, "b": second.pop})
    assert list(mapping) == ["a", "b"]
    assert (mapping["b"], mapping["b"]) == (2, 2)
    assert (first, second) == ([1], [])
    with pytest.raises(KeyError):
        mapping["c"]
