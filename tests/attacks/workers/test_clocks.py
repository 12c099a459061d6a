"""Machines whose clocks are hours apart: leases and retries go by the database's clock alone."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest
from sqlalchemy import select
from support.servers.delegation import PURGE, Desk, RunningClock, body, payload

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.database.statements.clock import NOW

HOURS = 7200
SHIFTED = """
import sys, time
url, shift, part = sys.argv[1], int(sys.argv[2]), sys.argv[3]
real = time.time_ns
time.time_ns = lambda: real() + shift * 10**9
time.time = lambda: time.time_ns() / 10**9

import asyncio, json
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.delegation.queue import retry_policy
from sluicegate.delegation.queue.failures import AttemptFailure
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.task_payload import TaskPayload
from sluicegate.delegation.queue.tasks import TaskQueue
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.signing.keyring import KeyRing
from sluicegate.database import Store

retry_policy.JITTER = 0

async def main():
    store = await Store.open(url)
    leases = Leases(store, DelegationSettings())
    if part == "submit":
        queue = TaskQueue(store, PayloadCipher(KeyRing((b"a key of the tests with many bytes",))))
        task = await queue.submit(TaskPayload.parse(sys.stdin.buffer.read()), "polaris")
    else:
        task = await leases.acquire("the shifted worker", ["TABLE_PURGE"])
    if part == "fail":
        task = await leases.fail(task, AttemptFailure("STORAGE_FAILED", "busy", retryable=True))
    print(json.dumps(task and [task.id, task.leased_by, task.due_at]))
    await store.aclose()

asyncio.run(main())
"""


@pytest.fixture
def desk(store: Store) -> Desk:
    """With leases that last for longer than a process takes to start on a busy machine."""
    return Desk(store, DelegationSettings(), RunningClock())


async def shifted(url: str, shift: int, part: str, given: bytes = b"") -> Any:
    """What a process says whose clock is so many seconds ahead."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SHIFTED, url, str(shift), part),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate(given)
    assert process.returncode == 0
    return json.loads(said)


async def database_now(desk: Desk) -> int:
    async with desk.store.read() as connection:
        return (await connection.execute(select(NOW))).scalar_one()


@pytest.mark.parametrize(
    "shift",
    [
        HOURS,
        pytest.param(
            -HOURS,
            marks=pytest.mark.night("test_a_worker_with_another_time_takes_no_healthy_task"),
        ),
    ],
)
async def test_a_worker_with_another_time_takes_no_healthy_task(
    desk: Desk, database_url: str, shift: int
) -> None:
    await desk.queue.submit(payload(), "polaris")
    assert await desk.leases.acquire("the healthy worker", [PURGE]) is not None
    assert await shifted(database_url, shift, "acquire") is None


@pytest.mark.parametrize(
    "shift",
    [
        -HOURS,
        pytest.param(
            HOURS,
            marks=pytest.mark.night(
                "test_a_lost_task_is_taken_over_at_once_by_a_worker_with_another_time"
            ),
        ),
    ],
)
async def test_a_lost_task_is_taken_over_at_once_by_a_worker_with_another_time(
    desk: Desk, database_url: str, shift: int
) -> None:
    task = await desk.queue.submit(payload(), "polaris")
    leased = await desk.leases.acquire("the lost worker", [PURGE])
    assert leased is not None
    desk.clock.advance(-desk.settings.lease.ttl - 1)
    assert await desk.leases.beat(leased) == "held"  # for the last time, and so long ago
    taken_id, holder, due_at = await shifted(database_url, shift, "acquire")
    assert (taken_id, holder) == (task.id, "the shifted worker")
    assert 3_500_000 < due_at - await database_now(desk) <= 3_600_000


@pytest.mark.parametrize(
    "shift",
    [
        HOURS,
        pytest.param(
            -HOURS,
            marks=pytest.mark.night(
                "test_what_a_service_with_another_time_was_handed_over_is_due_at_once"
            ),
        ),
    ],
)
async def test_what_a_service_with_another_time_was_handed_over_is_due_at_once(
    desk: Desk, database_url: str, shift: int
) -> None:
    document = json.dumps(body()).encode()
    task_id, _, _ = await shifted(database_url, shift, "submit", document)
    leased = await desk.leases.acquire("w", [PURGE])
    assert leased is not None
    assert leased.id == task_id


@pytest.mark.parametrize(
    "shift",
    [
        -HOURS,
        pytest.param(
            HOURS,
            marks=pytest.mark.night(
                "test_a_retry_that_a_worker_with_another_time_schedules_is_due_in_time"
            ),
        ),
    ],
)
async def test_a_retry_that_a_worker_with_another_time_schedules_is_due_in_time(
    desk: Desk, database_url: str, shift: int
) -> None:
    task = await desk.queue.submit(payload(), "polaris")
    await shifted(database_url, shift, "fail")
    failed = await desk.queue.get(task.id)
    assert failed.due_at is not None
    assert failed.due_at - failed.status_changed_at == 30_000
    assert await desk.leases.acquire("w", [PURGE]) is None
    desk.clock.advance(31)
    assert await desk.leases.acquire("w", [PURGE]) is not None
