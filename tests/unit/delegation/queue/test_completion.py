import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from typing import cast

import pytest
from support.tasks.records import task_record

from sluicegate.api.errors import Unavailable
from sluicegate.delegation.queue.completion import Watcher
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.tasks import TaskQueue


class Completed:
    """What the database knows: completed tasks by id, and failures that come before."""

    def __init__(self, *outages: Unavailable) -> None:
        self.tasks: dict[str, TaskRecord] = {}
        self.outages = list(outages)
        self.queries: list[int] = []
        self.queried = asyncio.Event()

    async def ended(self, task_ids: Collection[str]) -> list[TaskRecord]:
        self.queries.append(len(task_ids))
        self.queried.set()
        if self.outages:
            raise self.outages.pop()
        return [self.tasks[each] for each in task_ids if each in self.tasks]

    def complete(self, *ids: str) -> None:
        self.tasks |= {each: task_record(id=each, status="SUCCESS", version=4) for each in ids}


@asynccontextmanager
async def watching(completed: Completed) -> AsyncIterator[Watcher]:
    watcher = Watcher(cast("TaskQueue", completed), interval=0.001)
    running = asyncio.create_task(watcher.run())
    try:
        yield watcher
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def test_a_completed_task_is_returned_without_a_query() -> None:
    completed, done = Completed(), task_record(status="FAILURE")
    async with watching(completed) as watcher:
        assert await watcher.wait(done) is done
    assert completed.queries == []


async def test_all_requests_for_a_task_are_notified() -> None:
    completed = Completed()
    async with watching(completed) as watcher:
        waiting = [asyncio.create_task(watcher.wait(task_record())) for _ in range(3)]
        await completed.queried.wait()
        assert not any(each.done() for each in waiting)
        completed.complete("t1")
        found = await asyncio.gather(*waiting)
    assert found == [completed.tasks["t1"]] * 3


async def test_more_than_500_tasks_are_queried_in_parts() -> None:
    completed = Completed()
    ids = [f"t{number}" for number in range(501)]
    completed.complete(*ids)
    async with watching(completed) as watcher:
        found = await asyncio.gather(*(watcher.wait(task_record(id=each)) for each in ids))
    assert [each.id for each in found] == ids
    assert completed.queries[:2] == [500, 1]


async def test_an_outage_is_logged_once_and_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    completed = Completed(Unavailable("no database"), Unavailable("no database"))
    completed.complete("t1")
    with caplog.at_level(logging.WARNING):
        async with watching(completed) as watcher:
            assert (await watcher.wait(task_record())).status == "SUCCESS"
    assert len(completed.queries) == 3
    assert [each.name for each in caplog.records] == ["sluicegate.delegation.queue.completion"]


async def test_a_canceled_request_is_not_queried_again() -> None:
    completed = Completed()
    async with watching(completed) as watcher:
        first = asyncio.create_task(watcher.wait(task_record(id="gone")))
        await completed.queried.wait()
        first.cancel()
        with suppress(asyncio.CancelledError):
            await first
        completed.complete("t2")
        completed.queries.clear()
        await watcher.wait(task_record(id="t2"))
    assert set(completed.queries) == {1}
