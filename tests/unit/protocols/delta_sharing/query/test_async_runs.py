"""Jobs that go on when a request stops waiting, and how long their outcome is kept."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sluicegate._util.background_jobs import BackgroundJobs
from sluicegate.protocols.delta_sharing.query import async_queries
from sluicegate.protocols.delta_sharing.query.async_queries import AsyncRuns

SOON = 0.001


class Job:
    """A job that ends when the test says so; counts how often it was started."""

    def __init__(self) -> None:
        self.started = 0
        self.may_end = asyncio.Event()
        self.failure: Exception | None = None

    async def __call__(self) -> int:
        self.started += 1
        await self.may_end.wait()
        if self.failure is not None:
            raise self.failure
        return self.started


@pytest.fixture
def job() -> Job:
    return Job()


@pytest.fixture
def runs() -> AsyncRuns[int]:
    return AsyncRuns(BackgroundJobs())


@contextmanager
def shortly(monkeypatch: pytest.MonkeyPatch, **constants: float) -> Iterator[None]:
    """Another value of the module's constants within this context."""
    with monkeypatch.context() as patched:
        for name, value in constants.items():
            patched.setattr(async_queries, name, value)
        yield


async def test_a_job_that_ends_in_time_is_returned(runs: AsyncRuns[int], job: Job) -> None:
    job.may_end.set()
    done = await runs.wait("k", job, 5, kept=False)
    assert done is not None
    assert done.result() == 1


async def test_a_slow_job_continues_and_the_next_request_joins_it(
    runs: AsyncRuns[int], job: Job
) -> None:
    assert await runs.wait("k", job, SOON, kept=False) is None
    assert await runs.wait("k", job, SOON, kept=True) is None
    job.may_end.set()
    done = await runs.wait("k", job, 5, kept=False)
    assert done is not None
    assert (done.result(), job.started) == (1, 1)


async def test_requests_that_wait_together_share_one_job(runs: AsyncRuns[int], job: Job) -> None:
    waiting = [asyncio.create_task(runs.wait("k", job, 5, kept=False)) for _ in range(3)]
    await asyncio.sleep(0)
    job.may_end.set()
    found = await asyncio.gather(*waiting)
    assert [task and task.result() for task in found] == [1, 1, 1]


async def test_a_request_that_is_cancelled_does_not_cancel_the_job(
    runs: AsyncRuns[int], job: Job
) -> None:
    waiting = asyncio.create_task(runs.wait("k", job, 5, kept=False))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    job.may_end.set()
    done = await runs.wait("k", job, 5, kept=True)
    assert done is not None
    assert (done.result(), job.started) == (1, 1)


@pytest.mark.parametrize(("kept", "started"), [(True, 1), (False, 2)])
async def test_an_outcome_is_used_again_if_that_is_acceptable(
    runs: AsyncRuns[int], job: Job, kept: bool, started: int
) -> None:
    job.may_end.set()
    await runs.wait("k", job, 5, kept=False)
    done = await runs.wait("k", job, 5, kept=kept)
    assert done is not None
    assert done.result() == started


async def test_jobs_of_other_keys_are_others(runs: AsyncRuns[int], job: Job) -> None:
    job.may_end.set()
    await runs.wait("k", job, 5, kept=True)
    await runs.wait("l", job, 5, kept=True)
    assert job.started == 2


async def test_a_failure_is_an_outcome(runs: AsyncRuns[int], job: Job) -> None:
    job.failure = ValueError("broken")
    job.may_end.set()
    for _ in range(2):
        done = await runs.wait("k", job, 5, kept=True)
        assert done is not None
        assert repr(done.exception()) == "ValueError('broken')"
    assert job.started == 1


async def test_a_failure_that_no_request_waits_for_is_not_reported_by_asyncio(
    runs: AsyncRuns[int], job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    job.failure = ValueError("broken")
    assert await runs.wait("k", job, SOON, kept=False) is None
    with shortly(monkeypatch, _KEPT_SECONDS=0):
        job.may_end.set()
        await asyncio.sleep(10 * SOON)
    gc.collect(0)  # asyncio reports it when nothing refers to the task any more
    assert reported == []


async def test_an_outcome_is_forgotten_after_a_while(
    runs: AsyncRuns[int], job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.may_end.set()
    with shortly(monkeypatch, _KEPT_SECONDS=SOON):
        await runs.wait("k", job, 5, kept=True)
        await asyncio.sleep(10 * SOON)
    await runs.wait("k", job, 5, kept=True)
    assert job.started == 2


async def test_a_newer_job_is_not_forgotten_with_an_older_one(
    runs: AsyncRuns[int], job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.may_end.set()
    with shortly(monkeypatch, _KEPT_SECONDS=SOON):
        await runs.wait("k", job, 5, kept=False)
        await asyncio.sleep(0)
    await runs.wait("k", job, 5, kept=False)
    await asyncio.sleep(10 * SOON)
    await runs.wait("k", job, 5, kept=True)
    assert job.started == 2


async def test_with_too_many_jobs_requests_wait_as_those_of_other_clients_do(
    runs: AsyncRuns[int], job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shortly(monkeypatch, _MOST=1):
        assert await runs.wait("k", job, SOON, kept=False) is None
        waiting = asyncio.create_task(runs.wait("l", job, SOON, kept=False))
        await asyncio.sleep(10 * SOON)
        assert not waiting.done()
        job.may_end.set()
        done = await waiting
    assert done is not None
    assert done.done()
