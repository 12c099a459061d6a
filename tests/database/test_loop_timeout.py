"""A timeout of the database counts no time in which the event loop was busy with something else."""

from __future__ import annotations

import asyncio
import time

import pytest

from sluicegate.database.loop_timeout import loop_timeout


async def test_what_takes_too_long_is_given_up() -> None:
    with pytest.raises(TimeoutError):
        async with loop_timeout(0.2):
            await asyncio.Event().wait()


async def test_an_answer_that_came_while_the_loop_was_busy_is_taken() -> None:
    answered = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def answer() -> None:
        for _ in range(5):  # as a driver answers, step by step from its thread
            await asyncio.to_thread(time.sleep, 0)
            loop.call_soon(time.sleep, 0.15)
        answered.set()

    task = asyncio.create_task(answer())
    async with loop_timeout(0.6):
        loop.call_soon(time.sleep, 1)
        await answered.wait()
    await task
