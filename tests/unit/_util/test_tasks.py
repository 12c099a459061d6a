"""Cancelled tasks have ended, whatever they do about it."""

from __future__ import annotations

import asyncio

from sluicegate._util.tasks import cancel_all


async def test_cancelled_tasks_have_ended_when_the_call_returns() -> None:
    ended: list[str] = []

    async def cleaning_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")

    async def failing() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("failed")
            raise OSError("lost")

    tasks = [asyncio.create_task(cleaning_up()), asyncio.create_task(failing())]
    await asyncio.sleep(0)
    await cancel_all(*tasks)
    assert sorted(ended) == ["cleaned up", "failed"]
    assert tasks[0].cancelled()
    assert isinstance(tasks[1].exception(), OSError)


async def test_no_tasks_are_cancelled_at_once() -> None:
    await cancel_all()
