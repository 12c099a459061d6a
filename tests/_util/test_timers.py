"""Timers call their method, and keep neither its object nor the context of a request."""

from __future__ import annotations

import asyncio
import weakref
from contextvars import ContextVar

from sluicegate._util.timers import call_later

_VARIABLE: ContextVar[object] = ContextVar("variable")


class Called:
    """Counts calls."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.called = asyncio.Event()

    def call(self, name: str) -> None:
        self.names.append(name)
        self.called.set()


async def test_a_method_is_called_with_its_arguments() -> None:
    called = Called()
    call_later(0, called.call, "a")
    await called.called.wait()
    assert called.names == ["a"]


async def test_a_timer_that_is_cancelled_calls_nothing() -> None:
    called = Called()
    call_later(0, called.call, "a").cancel()
    call_later(0, called.call, "b")
    await called.called.wait()
    assert called.names == ["b"]


async def test_a_timer_keeps_neither_its_object_nor_the_context() -> None:
    async def in_a_request() -> list[weakref.ref[Called]]:
        called, value = Called(), Called()
        _VARIABLE.set(value)
        call_later(3600, called.call, "a")
        return [weakref.ref(called), weakref.ref(value)]

    remaining = await asyncio.create_task(in_a_request())
    await asyncio.sleep(0)  # the loop has let go of the task
    assert [each() for each in remaining] == [None, None]
