"""Limits of operations and schedules, on both databases."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from support.servers.delegation import Desk, RunningClock, payload
from support.tasks.scheduled import Listing, ScheduledService, SetClock, compaction, delegation

from sluicegate.api import TaskResult
from sluicegate.api.errors import Unavailable
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.delegation.queue.records import TaskRecord

OPERATIONS = ["TABLE_COMPACTION", "TABLE_VACUUM"]


async def test_an_operation_at_its_limit_does_not_hold_others_back(
    store: Store, clock: RunningClock
) -> None:
    desk = Desk(store, DelegationSettings(operation_limits={"TABLE_COMPACTION": 2}), clock)
    for number in range(5):
        for operation in OPERATIONS:
            sent = payload(f"{operation}-{number}", operation=operation, priority=5)
            await desk.queue.submit(sent, "polaris")
    leased = [await desk.leases.acquire("worker", OPERATIONS) for _ in range(8)]
    assert Counter(each.operation for each in leased if each) == {
        "TABLE_COMPACTION": 2,
        "TABLE_VACUUM": 5,
    }
    assert leased[-1] is None
    compacting = next(each for each in leased if each and each.operation == "TABLE_COMPACTION")
    await desk.leases.succeed(await desk.leases.start(compacting), TaskResult("done"))
    following = await desk.leases.acquire("worker", OPERATIONS)
    assert following is not None
    assert following.operation == "TABLE_COMPACTION"
    assert await desk.leases.acquire("worker", OPERATIONS) is None


@pytest.mark.parametrize("limited", ["operation", "schedule"])
async def test_concurrent_workers_do_not_exceed_a_limit(store: Store, limited: str) -> None:
    limits = {"operation": {"operation_limits": {"TABLE_COMPACTION": 3}}, "schedule": {}}[limited]
    budget = {"max_running": 3} if limited == "schedule" else {}
    clock = SetClock("2026-11-26T00:00Z")
    tables = [f"t{number}" for number in range(12)]
    one = ScheduledService(
        store, clock, Listing({"s": tables}), delegation({"nightly": compaction(**budget)}, **limits)
    )
    await one.step()
    clock.set("2026-11-26T02:00Z")
    await one.step()

    async def lease(number: int) -> TaskRecord | None:
        while True:
            try:
                return await one.leases.acquire(f"worker-{number}", OPERATIONS)
            except Unavailable:  # SQLite lets one writer wait while others overtake it
                continue

    leased = await asyncio.gather(*map(lease, range(10)))
    assert sum(each is not None for each in leased) == 3
    other = await one.queue.submit(payload("T1", operation="TABLE_COMPACTION"), "polaris")
    found = await lease(0)
    # The budget of a schedule is for its own tasks.
    assert (found is not None and found.id == other.id) == (limited == "schedule")


async def test_full_realms_and_full_operations_are_both_passed_over(
    store: Store, clock: RunningClock
) -> None:
    settings = DelegationSettings(
        operation_limits={"TABLE_COMPACTION": 1}, realm_limits={"prod": 2}, max_running_per_realm=9
    )
    desk = Desk(store, settings, clock)
    for realm in ("prod", "stage"):
        for operation in OPERATIONS:
            for number in range(3):
                sent = payload(f"{operation}-{number}", operation=operation, realm=realm)
                await desk.queue.submit(sent, "polaris")
    leased = [await desk.leases.acquire("worker", OPERATIONS) for _ in range(7)]
    assert Counter((each.realm, each.operation) for each in leased if each) == {
        ("prod", "TABLE_COMPACTION"): 1,
        ("prod", "TABLE_VACUUM"): 1,
        ("stage", "TABLE_VACUUM"): 3,
    }


async def test_concurrent_workers_of_different_realms_do_not_exceed_a_limit(
    store: Store, clock: RunningClock
) -> None:
    desk = Desk(store, DelegationSettings(operation_limits={"TABLE_COMPACTION": 3}), clock)
    for number in range(16):
        sent = payload(operation="TABLE_COMPACTION", realm=f"realm-{number}")
        await desk.queue.submit(sent, "polaris")

    async def lease(number: int) -> TaskRecord | None:
        while True:
            try:
                return await desk.leases.acquire(f"worker-{number}", OPERATIONS)
            except Unavailable:  # SQLite lets one writer wait while others overtake it
                continue

    leased = await asyncio.gather(*map(lease, range(16)))
    assert sum(each is not None for each in leased) == 3
