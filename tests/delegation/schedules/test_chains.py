"""Schedules that fire after another one."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from support.tasks.scheduled import (
    COMPACTION,
    Listing,
    ScheduledService,
    SetClock,
    compaction,
    delegation,
    opened_service,
)

from sluicegate.api.errors import Unavailable
from sluicegate.database import Store

CHAIN = {
    "compaction": compaction(),
    "expiry": {
        "after": "compaction",
        "operation": "SNAPSHOT_EXPIRY",
        "catalog": "lake",
        "tables": ["*.*"],
        "exclude": ["ops.*"],
    },
}


@pytest.fixture
def clock() -> SetClock:
    return SetClock("2026-11-26T00:00Z")


@pytest.fixture
def catalog() -> Listing:
    return Listing({"ops": ["jobs"], "sales": ["a", "b", "c", "v1.2"]})


async def test_it_fires_once_when_all_tasks_have_ended_for_the_tables_that_succeeded(
    database_url: str, clock: SetClock, catalog: Listing
) -> None:
    async with AsyncExitStack() as stack:
        open_one = (database_url, clock, catalog, delegation(CHAIN))
        services = [await stack.enter_async_context(opened_service(*open_one)) for _ in range(3)]
        one = services[0]
        await one.step()
        clock.set("2026-11-26T02:00Z")
        await one.step()
        tasks = {each.table: each for each in await one.tasks()}
        await one.queue.cancel(tasks["lake.sales.b"].id)
        await one.step()
        assert len(await one.recorded()) == 1  # four tasks are unfinished
        assert await one.run_all() == 4
        await asyncio.gather(*(patiently(each) for each in services))
        await asyncio.gather(*(patiently(each) for each in services))
        first, then = await one.recorded()
        assert (then.schedule, then.parent_id, then.fires_at) == ("expiry", first.id, first.fires_at)
        assert (then.status, then.submitted) == ("SUBMITTED", 3)
        expiries = await one.tasks(schedule="expiry")
        assert {each.table for each in expiries} == {"lake.sales.a", "lake.sales.c", "lake.sales.v1.2"}
        assert {each.operation for each in expiries} == {"SNAPSHOT_EXPIRY"}
        assert await one.run_all(COMPACTION) == 0
        assert await one.run_all("SNAPSHOT_EXPIRY") == 3


async def patiently(service: ScheduledService) -> None:
    """A step of a service, which tries again if SQLite lets it wait for too long."""
    while True:
        try:
            return await service.step()
        except Unavailable:
            continue


async def test_earlier_firings_do_not_count(store: Store, clock: SetClock, catalog: Listing) -> None:
    alone = ScheduledService(store, clock, catalog, delegation({"compaction": compaction()}))
    await alone.step()
    clock.set("2026-11-26T02:00Z")
    await alone.step()
    await alone.run_all()
    clock.set("2026-11-26T03:00Z")
    both = ScheduledService(store, clock, catalog, delegation(CHAIN))
    for _ in range(3):
        await both.step()
    assert [each.schedule for each in await both.recorded()] == ["compaction"]


async def test_a_paused_chain_does_not_fire(store: Store, clock: SetClock, catalog: Listing) -> None:
    one = ScheduledService(store, clock, catalog, delegation(CHAIN))
    await one.step()
    await one.states.pause("expiry", "ada")
    clock.set("2026-11-26T02:00Z")
    await one.step()
    await one.run_all()
    await one.step()
    clock.set("2026-11-26T03:00Z")
    await one.states.resume("expiry")
    await one.step()
    assert [each.schedule for each in await one.recorded()] == ["compaction"]
    clock.set("2026-11-27T02:00Z")
    await one.step()
    await one.run_all()
    await one.step()
    await one.step()
    assert [each.schedule for each in await one.recorded()] == ["compaction", "compaction", "expiry"]


async def test_a_firing_without_tasks_starts_nothing(store: Store, clock: SetClock) -> None:
    one = ScheduledService(store, clock, Listing({}), delegation(CHAIN))
    await one.step()
    clock.set("2026-11-26T02:00Z")
    for _ in range(3):
        await one.step()
    assert [(each.schedule, each.submitted) for each in await one.recorded()] == [("compaction", 0)]
