"""What is on its way while something else changes: a lease and a drain, credentials and a lease."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from support.servers.delegation import PURGE, Desk, Waiting, payload

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.delegation.queue.encryption import open_task
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.queue.records import TaskRecord
from sluicegate.delegation.queue.statements import After
from sluicegate.delegation.queue.tasks import TaskFilter
from sluicegate.delegation.queue.transitions import move

CONFIG = {"s3.secret-access-key": "a vended secret of the tests"}
METADATA = {"location": "s3://lake/T1", "table-uuid": "a-uuid", "format-version": 2}


class SlowLeases(Leases):
    """A database that takes its time to lease a task."""

    asked: anyio.Event
    answers: anyio.Event

    async def acquire(self, worker: str, operations: Collection[str]) -> TaskRecord | None:
        """Wait, then lease."""
        self.asked.set()
        await self.answers.wait()
        return await super().acquire(worker, operations)


async def test_a_task_that_is_leased_behind_the_end_of_a_drain_is_given_back(desk: Desk) -> None:
    desk.settings = DelegationSettings.model_validate({"worker": {"drain_timeout": 0}})
    slow = SlowLeases(desk.store, desk.settings, now=desk.clock.now)
    slow.asked, slow.answers = anyio.Event(), anyio.Event()
    desk.leases = slow
    task = await desk.queue.submit(payload(), "polaris")
    with anyio.fail_after(30):
        async with desk.working(Waiting()) as worker:
            await slow.asked.wait()
            worker.drain()
            for _ in range(10):
                await checkpoint()
            slow.answers.set()
    ended = await desk.queue.get(task.id)
    assert (ended.status, ended.attempt_count) == ("RETRY_SCHEDULED", 0)


async def test_credentials_of_a_repeat_are_kept_while_a_worker_takes_the_task(desk: Desk) -> None:
    task = await desk.queue.submit(payload(config={}), "polaris")
    async with anyio.create_task_group() as group, desk.store.append() as connection:
        await move(connection, task, "ACQUIRING_RESOURCES", desk.clock.now, due_at=After(60_000))
        group.start_soon(desk.queue.submit, payload(config=CONFIG), "polaris")
        await anyio.sleep(0.5)  # until it waits for the row
    assert open_task(await desk.queue.get(task.id), desk.cipher).config == CONFIG


@pytest.mark.parametrize(
    "repeat",
    [{}, {"config": {}}, {"metadata": METADATA}, {"metadata": METADATA, "config": {}}],
    ids=lambda repeat: " and ".join(repeat) or "nothing",
)
async def test_a_repeat_without_credentials_keeps_the_stored_ones(
    desk: Desk, repeat: dict[str, Any]
) -> None:
    task = await desk.queue.submit(payload(metadata=METADATA, config=CONFIG), "polaris")
    repeated = await desk.queue.submit(payload(**repeat), "polaris")
    assert repeated.id == task.id
    stored = open_task(await desk.queue.get(task.id), desk.cipher)
    assert (stored.config, stored.metadata) == (CONFIG, METADATA)


@pytest.mark.parametrize(
    "repeat",
    [{"config": CONFIG}, {"storage-credentials": [{"prefix": "s3://lake/", "config": CONFIG}]}],
)
async def test_a_repeat_brings_newer_credentials(desk: Desk, repeat: dict[str, Any]) -> None:
    task = await desk.queue.submit(payload(config={"s3.secret-access-key": "older"}), "polaris")
    await desk.queue.submit(payload(**repeat), "polaris")
    stored = open_task(await desk.queue.get(task.id), desk.cipher)
    assert {"config": stored.config, **stored.further} == {"config": None, **repeat}


async def test_a_repeat_adds_metadata_to_a_task_that_has_nothing_sealed(desk: Desk) -> None:
    task = await desk.queue.submit(payload(), "polaris")
    await desk.queue.submit(payload(metadata=METADATA), "polaris")
    assert open_task(await desk.queue.get(task.id), desk.cipher).metadata == METADATA


async def test_a_listing_holds_nothing_that_is_sealed(desk: Desk) -> None:
    await desk.queue.submit(payload(config=CONFIG), "polaris")
    [listed] = await desk.queue.find(TaskFilter())
    assert (listed.sealed, listed.operation) == (None, PURGE)
