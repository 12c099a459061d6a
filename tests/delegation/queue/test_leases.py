"""Who gets which task, and what becomes of leases, on both databases."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections import Counter
from dataclasses import replace

import anyio
import pytest
from support.process.random_cases import times
from support.servers.delegation import PURGE, Desk, RunningClock, payload

from sluicegate.api import TaskProgress, TaskResult
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.delegation.queue.failures import AttemptFailure
from sluicegate.delegation.queue.transitions import TaskVersionConflict

TASKS, WORKERS = (500, 8) if times() > 1 else (120, 3)
BUSY = AttemptFailure("STORAGE_FAILED", "the store is busy", retryable=True)


def with_settings(desk: Desk, **changed: object) -> Desk:
    return replace(desk, settings=DelegationSettings.model_validate(changed))


WORKER = """
import asyncio, sys
from sluicegate.api import TaskResult
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.delegation.queue.leases import Leases
from sluicegate.api.errors import Unavailable
from sluicegate.database import Store

async def patiently(asked, *given):
    while True:
        try:
            return await asked(*given)
        except Unavailable:  # SQLite lets one writer wait while others overtake it
            continue

async def work(url, name):
    store = await Store.open(url)
    leases = Leases(store, DelegationSettings(max_running_per_realm=1000))
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    while (task := await patiently(leases.acquire, name, ["TABLE_PURGE"])) is not None:
        print(task.id, flush=True)
        started = await patiently(leases.start, task)
        await patiently(leases.succeed, started, TaskResult("done"))
    await store.aclose()

asyncio.run(work(*sys.argv[1:]))
"""


async def test_two_workers_never_hold_one_lease(
    database_url: str, store: Store, clock: RunningClock
) -> None:
    desk = Desk(store, DelegationSettings(), clock)
    tasks = [await desk.queue.submit(payload(f"T{number}"), "polaris") for number in range(TASKS)]
    workers = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", WORKER, database_url, f"worker-{number}"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for number in range(WORKERS)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert await worker.stdout.readline() == b"ready\n"
    said = await asyncio.gather(*(worker.communicate(b"go\n") for worker in workers))
    assert [worker.returncode for worker in workers] == [0] * WORKERS
    taken = [output.decode().split() for output, _ in said]
    assert Counter(itertools.chain(*taken)) == Counter(task.id for task in tasks)
    assert sum(map(bool, taken)) > 1, "one worker has taken all"
    assert {len(await desk.queue.history(task.id)) for task in tasks} == {4}


async def test_the_most_urgent_task_is_first_and_then_the_oldest(
    desk: Desk, clock: RunningClock
) -> None:
    for name, priority in (("old", 5), ("new", 5), ("urgent", 1), ("late", 9)):
        await desk.queue.submit(payload(name, priority=priority), "polaris")
        clock.advance(1)
    order = []
    while (task := await desk.leases.acquire("w", [PURGE])) is not None:
        order.append(task.payload["operation_parameters"]["table_identity"]["table_name"])
    assert order == ["urgent", "old", "new", "late"]


async def test_a_realm_at_its_limit_lets_the_others_through(desk: Desk) -> None:
    limited = with_settings(desk, max_running_per_realm=2, realm_limits={"big": 3})
    for number in range(5):
        await limited.queue.submit(payload(f"a{number}", realm="big", priority=1), "polaris")
        await limited.queue.submit(payload(f"b{number}", realm="small"), "polaris")
    taken = [await limited.leases.acquire("w", [PURGE]) for _ in range(6)]
    assert [task and task.realm for task in taken] == ["big"] * 3 + ["small"] * 2 + [None]


async def test_behind_a_realm_at_its_limit_the_most_urgent_of_the_others_is_first(
    desk: Desk, clock: RunningClock
) -> None:
    limited = with_settings(desk, max_running_per_realm=10, realm_limits={"a": 1, "full": 1})
    for realm in ("a", "full"):
        await limited.queue.submit(payload("running", realm=realm, priority=1), "polaris")
        running = await limited.leases.acquire("w", [PURGE])
    assert running is not None
    for number, (realm, priority) in enumerate(
        [("full", 1), ("a", 1), ("late", 6), ("b", 5), ("late", 6), ("z", 2), ("b", 5)]
    ):
        await limited.queue.submit(payload(f"{number}", realm=realm, priority=priority), "polaris")
        clock.advance(1)
    other = payload("other", realm="0", priority=1, operation="TABLE_COMPACTION")
    await limited.queue.submit(other, "polaris")
    taken = [await limited.leases.acquire("w", [PURGE]) for _ in range(6)]
    assert [task and task.realm for task in taken] == ["z", "b", "b", "late", "late", None]
    await limited.leases.succeed(await limited.leases.start(running), TaskResult("done"))
    last = await limited.leases.acquire("w", [PURGE])
    assert last is not None
    assert (last.realm, last.id == running.id) == ("full", False)


async def test_the_limit_of_a_realm_holds_for_workers_that_ask_at_once(desk: Desk) -> None:
    limited = with_settings(desk, max_running_per_realm=3)
    for number in range(10):
        await limited.queue.submit(payload(f"T{number}"), "polaris")
    taken: list[object] = []

    async def ask(name: str) -> None:
        taken.append(await limited.leases.acquire(name, [PURGE]))

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(ask, str(number))
    assert sum(task is not None for task in taken) == 3


async def test_a_cancelled_task_whose_attempt_fails_is_not_tried_again(desk: Desk) -> None:
    task = await desk.queue.submit(payload(), "polaris")
    leased = await desk.leases.acquire("w", [PURGE])
    assert leased is not None
    await desk.queue.cancel(task.id)
    failed = await desk.leases.fail(leased, BUSY)
    assert (failed.status, failed.error_code) == ("FAILURE", "TASK_CANCELLED")
    assert await desk.statuses(task.id) == [
        *("SUBMITTED", "ACQUIRING_RESOURCES", "RETRY_SCHEDULED", "FAILURE")
    ]


async def test_only_operations_that_a_worker_runs_are_leased(desk: Desk) -> None:
    await desk.queue.submit(payload(operation="TABLE_COMPACTION"), "polaris")
    assert await desk.leases.acquire("w", [PURGE]) is None
    assert await desk.leases.acquire("w", [PURGE, "TABLE_COMPACTION"]) is not None


async def test_a_lost_lease_is_taken_over_and_its_holder_fenced_off(
    desk: Desk, clock: RunningClock
) -> None:
    await desk.queue.submit(payload(), "polaris")
    lost = await desk.leases.acquire("first", [PURGE])
    assert lost is not None
    lost = await desk.leases.start(lost)
    clock.advance(3599)
    assert await desk.leases.acquire("second", [PURGE]) is None
    clock.advance(2)
    taken = await desk.leases.acquire("second", [PURGE])
    assert taken is not None
    assert (taken.id, taken.attempt_count, taken.leased_by) == (lost.id, 2, "second")
    assert await desk.leases.beat(lost) == "lost"
    assert not await desk.leases.finish_stage(lost, ["content"])
    with pytest.raises(TaskVersionConflict):
        await desk.leases.succeed(lost, TaskResult("too late"))
    with pytest.raises(TaskVersionConflict):
        await desk.leases.fail(lost, BUSY)
    assert (await desk.queue.get(lost.id)).leased_by == "second"


async def test_heartbeats_keep_a_lease_and_show_progress(desk: Desk, clock: RunningClock) -> None:
    await desk.queue.submit(payload(), "polaris")
    task = await desk.leases.acquire("first", [PURGE])
    assert task is not None
    for done in range(3):
        clock.advance(3000)
        assert await desk.leases.beat(task, TaskProgress("content", done, 3, done * 10)) == "held"
    assert await desk.leases.acquire("second", [PURGE]) is None
    progress = (await desk.queue.get(task.id)).progress
    assert progress == {"stage": "content", "files_done": 2, "files_total": 3, "bytes_done": 20}


async def test_a_task_that_loses_its_worker_at_every_attempt_fails(
    desk: Desk, clock: RunningClock
) -> None:
    submitted = await desk.queue.submit(payload(), "polaris")
    for attempt in range(1, 6):
        task = await desk.leases.acquire("w", [PURGE])
        assert task is not None
        assert task.attempt_count == attempt
        clock.advance(3601)
    assert await desk.leases.acquire("w", [PURGE]) is None
    ended = await desk.queue.get(submitted.id)
    assert (ended.status, ended.error_code) == ("FAILURE", "WORKER_LOST")


async def test_a_cancelled_task_whose_worker_is_lost_ends_at_the_next_acquire(
    desk: Desk, clock: RunningClock
) -> None:
    submitted = await desk.queue.submit(payload(priority=1), "polaris")
    await desk.queue.submit(payload("T2"), "polaris")
    lost = await desk.leases.acquire("first", [PURGE])
    assert lost is not None
    assert lost.id == submitted.id
    await desk.leases.start(lost)
    await desk.queue.cancel(lost.id)
    clock.advance(3601)
    next_task = await desk.leases.acquire("second", [PURGE])
    assert next_task is not None
    assert next_task.id != lost.id
    ended = await desk.queue.get(lost.id)
    assert (ended.status, ended.error_code) == ("FAILURE", "TASK_CANCELLED")
    assert await desk.statuses(lost.id) == [*("SUBMITTED", "ACQUIRING_RESOURCES", "RUNNING", "FAILURE")]


async def test_retries_wait_twice_as_long_each_time_until_none_is_left(
    desk: Desk, clock: RunningClock
) -> None:
    submitted = await desk.queue.submit(payload(), "polaris")
    waits = []
    for _ in range(5):
        task = await desk.leases.acquire("w", [PURGE])
        assert task is not None
        failed = await desk.leases.fail(await desk.leases.start(task), BUSY)
        if failed.due_at is not None:
            waits.append(round((failed.due_at - failed.status_changed_at) / 1000))
            clock.advance(waits[-1] - 1)
            assert await desk.leases.acquire("w", [PURGE]) is None
            clock.advance(1)
    assert waits == [30, 60, 120, 240]
    one = ["ACQUIRING_RESOURCES", "RUNNING"]
    retried = ["SUBMITTED", *((*one, "RETRY_SCHEDULED") * 4), *one, "FAILURE"]
    assert await desk.statuses(submitted.id) == retried
    ended = await desk.queue.get(submitted.id)
    assert (ended.error_code, ended.result_summary) == ("STORAGE_FAILED", "the store is busy")
    assert ended.version == len(retried)


async def test_an_operation_may_have_another_policy(desk: Desk, clock: RunningClock) -> None:
    override = {PURGE: {"max_attempts": 10, "initial_backoff": "1m"}}
    other = with_settings(desk, retry_overrides=override)
    await other.queue.submit(payload(), "polaris")
    waits = []
    for _ in range(10):
        task = await other.leases.acquire("w", [PURGE])
        assert task is not None
        failed = await other.leases.fail(task, BUSY)
        if failed.due_at is not None:
            waits.append(round((failed.due_at - failed.status_changed_at) / 1000))
            clock.advance(waits[-1])
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


async def test_a_task_that_is_given_back_has_not_used_an_attempt(desk: Desk) -> None:
    await desk.queue.submit(payload(), "polaris")
    task = await desk.leases.acquire("first", [PURGE])
    assert task is not None
    await desk.leases.release(task)
    again = await desk.leases.acquire("second", [PURGE])
    assert again is not None
    assert (again.id, again.attempt_count) == (task.id, 1)
