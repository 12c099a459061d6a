"""Tasks that ended long ago are forgotten, and nothing else is."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select
from support.servers.delegation import PURGE, Desk, RunningClock, payload

from sluicegate.api import TaskResult
from sluicegate.api.errors import NotFound
from sluicegate.database.task_tables import task_versions
from sluicegate.delegation.queue.retention import Retention

DAY = 86_400


async def test_ended_tasks_are_pruned_after_their_time_with_their_histories(
    desk: Desk, clock: RunningClock
) -> None:
    retention = Retention(desk.store, 30 * DAY, now=clock.now)
    first, late = [await desk.queue.submit(payload(each), "polaris") for each in ("T1", "T2")]
    waits = await desk.queue.submit(payload("T3"), "polaris")
    await desk.queue.cancel(first.id)
    clock.advance(20 * DAY)
    task = await desk.leases.acquire("w", [PURGE])
    assert task is not None
    assert task.id == late.id
    await desk.leases.succeed(await desk.leases.start(task), TaskResult("done"))
    assert await retention.prune() == 0
    clock.advance(20 * DAY)
    assert await retention.prune() == 1
    with pytest.raises(NotFound):
        await desk.queue.get(first.id)
    assert await desk.queue.history(first.id) == []
    assert (await desk.queue.get(late.id)).status == "SUCCESS"
    clock.advance(11 * DAY)
    assert await retention.prune() == 1
    assert (await desk.queue.get(waits.id)).status == "SUBMITTED"
    async with desk.store.read() as connection:
        versions = select(func.count()).select_from(task_versions)
        assert (await connection.execute(versions)).scalar_one() == 1


async def test_more_than_one_batch_is_pruned(desk: Desk, clock: RunningClock) -> None:
    for number in range(7):
        await desk.queue.cancel((await desk.queue.submit(payload(f"T{number}"), "polaris")).id)
    clock.advance(DAY)
    retention = Retention(desk.store, 60, now=clock.now, at_once=3)
    assert await retention.prune() == 7
