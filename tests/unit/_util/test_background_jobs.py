"""Jobs in the background: nothing of them is left once their owner is closed."""

from __future__ import annotations

import asyncio

import pytest

from sluicegate._util.background_jobs import BackgroundJobs


async def test_the_result_of_a_job_is_its_tasks() -> None:
    async def job() -> int:
        return 1

    assert await BackgroundJobs().start(job()) == 1


async def test_closing_waits_until_cancelled_jobs_have_cleaned_up() -> None:
    background, cleaned_up = BackgroundJobs(), []

    async def job() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            cleaned_up.append(True)

    tasks = [background.start(job()) for _ in range(2)]
    await asyncio.sleep(0)
    await background.aclose()
    assert cleaned_up == [True, True]
    assert all(task.cancelled() for task in tasks)


async def test_jobs_that_failed_do_not_fail_the_close() -> None:
    background = BackgroundJobs()

    async def job() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("lost")

    task = background.start(job())
    await asyncio.sleep(0)
    await background.aclose()
    assert isinstance(task.exception(), OSError)


async def test_a_job_that_starts_after_the_close_does_not_run() -> None:
    background = BackgroundJobs()
    await background.aclose()

    async def job() -> None:
        raise AssertionError("it runs")

    with pytest.raises(asyncio.CancelledError):
        await background.start(job())
