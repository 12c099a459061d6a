"""When schedules fire, and that each firing happens once, on both databases."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from support.tasks.scheduled import (
    Listing,
    ScheduledService,
    SetClock,
    compaction,
    delegation,
    ms,
    opened_service,
)

from sluicegate.api.errors import Unavailable
from sluicegate.database import Store
from sluicegate.delegation.queue.new_tasks import create_free
from sluicegate.delegation.queue.retention import Retention
from sluicegate.delegation.schedules import submission
from sluicegate.delegation.schedules.firings import Firing, FiringConflict, Firings
from sluicegate.delegation.schedules.scheduler import FiringRetention

LAKE = {"ops": ["a", "b"], "sales": ["orders", "events"], "sales.emea": ["orders"]}
TABLES = {"ops.a", "ops.b", "sales.events", "sales.orders", "sales.emea.orders"}


@pytest.fixture
def clock() -> SetClock:
    return SetClock("2026-11-26T00:00Z")


@pytest.fixture
def catalog() -> Listing:
    return Listing(LAKE)


def service(store: Store, clock: SetClock, catalog: Listing, **changed: Any) -> ScheduledService:
    return ScheduledService(store, clock, catalog, delegation({"nightly": compaction(**changed)}))


async def test_three_services_fire_each_time_once(
    database_url: str, clock: SetClock, catalog: Listing
) -> None:
    settings = delegation(
        {
            "hourly": compaction(cron="0 * * * *"),
            "half": compaction(cron="*/30 * * * *", overlap="allow"),
        }
    )
    async with AsyncExitStack() as stack:
        open_one = (database_url, clock, catalog, settings)
        services = [await stack.enter_async_context(opened_service(*open_one)) for _ in range(3)]
        await services[0].step()  # schedules count from here on
        for _ in range(12):
            clock.advance(600)
            await asyncio.gather(*(patiently(each) for each in services))
            await services[0].run_all()
        found = await services[1].recorded()
        times = {(each.schedule, each.fires_at) for each in found}
        assert len(times) == len(found) == 6
        assert {each.status for each in found} == {"SUBMITTED"}
        by_firing = {each.id: (each.submitted, each.busy) for each in found}
        assert all(sum(each) == len(TABLES) for each in by_firing.values())
        for each in await services[2].tasks():
            submitted, busy = by_firing[each.firing_id]
            by_firing[each.firing_id] = (submitted - 1, busy)
        assert {submitted for submitted, _ in by_firing.values()} == {0}


async def patiently(service: ScheduledService) -> None:
    """A step of a service, which tries again if SQLite lets it wait for too long."""
    while True:
        try:
            return await service.step()
        except Unavailable:
            continue


async def test_a_restarted_service_fires_no_time_again(
    database_url: str, clock: SetClock, catalog: Listing
) -> None:
    settings = delegation({"nightly": compaction()})
    for at in ("00:00", "02:00:03", "02:00:05", "02:20"):
        clock.set(f"2026-11-26T{at}Z")
        async with opened_service(database_url, clock, catalog, settings) as one:
            await one.step()
            found = await one.recorded()
            assert len(found) == (at != "00:00")
    assert found[0].fires_at == ms("2026-11-26T02:00Z")
    assert found[0].opened_at == ms("2026-11-26T02:00:03Z")


async def test_a_new_schedule_fires_for_no_earlier_time(
    store: Store, clock: SetClock, catalog: Listing
) -> None:
    clock.set("2026-11-26T02:00:30Z")
    one = service(store, clock, catalog)
    await one.step()
    await one.step()
    assert await one.recorded() == []


@pytest.mark.parametrize(
    ("catch_up", "until", "fired"),
    [
        ("1h", "02:59", ["02:50"]),  # of six missed times, the latest
        ("5m", "02:54", ["02:50"]),
        ("5m", "02:58", []),
        ("0s", "02:50:40", ["02:50"]),  # a service that waits for the database is not late
        ("0s", "02:52", []),
    ],
)
async def test_a_missed_firing_is_caught_up_once(
    store: Store, clock: SetClock, catalog: Listing, catch_up: str, until: str, fired: list[str]
) -> None:
    one = service(store, clock, catalog, cron="*/10 2 * * *", catch_up=catch_up)
    await one.step()
    clock.set(f"2026-11-26T{until}Z")
    await one.step()
    await one.step()
    assert [each.fires_at for each in await one.recorded()] == [ms(f"2026-11-26T{at}Z") for at in fired]


async def test_a_paused_schedule_does_not_fire_and_catches_nothing_up(
    database_url: str, clock: SetClock, catalog: Listing
) -> None:
    settings = delegation({"nightly": compaction(catch_up="1d")})
    async with opened_service(database_url, clock, catalog, settings) as one:
        await one.step()
        assert await one.states.pause("nightly", "admin 'eva'")
        assert not await one.states.pause("nightly", "someone else")
    clock.set("2026-11-26T02:30Z")
    async with opened_service(database_url, clock, catalog, settings) as restarted:
        await restarted.step()
        assert await restarted.recorded() == []
        _, states = await restarted.states.read()
        assert states["nightly"].paused_by == "admin 'eva'"
        assert await restarted.states.resume("nightly")
        assert not await restarted.states.resume("nightly")
        await restarted.step()
        assert await restarted.recorded() == []
        clock.set("2026-11-27T02:00Z")
        await restarted.step()
        assert [each.fires_at for each in await restarted.recorded()] == [ms("2026-11-27T02:00Z")]


async def test_a_disabled_schedule_fires_only_by_hand(
    store: Store, clock: SetClock, catalog: Listing
) -> None:
    one = service(store, clock, catalog, enabled=False, window="22:00-23:00")
    await one.step()
    clock.set("2026-11-26T02:00Z")
    await one.step()
    assert await one.recorded() == []
    await one.firings.request("nightly", "operator", may_overlap=False)
    await one.step()
    [firing] = await one.recorded()
    assert (firing.requested_by, firing.submitted) == ("operator", len(TABLES))
    assert await one.run_all() == len(TABLES)  # the window is only for times of the expression


async def test_it_does_not_fire_while_tasks_of_the_previous_firing_are_unfinished(
    store: Store, clock: SetClock, catalog: Listing
) -> None:
    one = service(store, clock, catalog)
    await one.step()
    for day in (26, 27):
        clock.set(f"2026-11-{day}T02:00Z")
        await one.step()
    with pytest.raises(FiringConflict, match="5 tasks of an earlier firing are unfinished"):
        await one.firings.request("nightly", "operator", may_overlap=False)
    await one.run_all()
    clock.set("2026-11-28T02:00Z")
    await one.step()
    found = await one.recorded()
    assert [each.status for each in found] == ["SUBMITTED", "SKIPPED", "SUBMITTED"]
    assert found[1].message == "5 tasks of an earlier firing are unfinished"
    assert set((await one.tables()).values()) == {2}


async def test_overlapping_firings_leave_busy_tables_out(
    store: Store, clock: SetClock, catalog: Listing
) -> None:
    one = service(store, clock, catalog, overlap="allow")
    await one.step()
    clock.set("2026-11-26T02:00Z")
    await one.step()
    await one.queue.cancel((await one.tasks())[0].id)
    clock.set("2026-11-27T02:00Z")
    await one.step()
    last = (await one.recorded())[1]
    assert (last.submitted, last.busy) == (1, 4)
    assert last.message == "4 tables had another unfinished task"


@pytest.mark.parametrize("crash", ["listing", "transaction", "end"])
async def test_a_crash_leaves_nothing_half_done(
    database_url: str,
    clock: SetClock,
    catalog: Listing,
    monkeypatch: pytest.MonkeyPatch,
    crash: str,
) -> None:
    settings = delegation({"nightly": compaction()})
    async with opened_service(database_url, clock, catalog, settings) as one:
        await one.step()
        clock.set("2026-11-26T02:00Z")
        with monkeypatch.context() as patched:
            if crash == "listing":
                catalog.failures["sales.emea"] = Killed()
            elif crash == "transaction":
                patched.setattr(submission, "create_free", _killed_after(create_free))
            else:
                patched.setattr(one.firings, "end", _killed)
            with pytest.raises(Killed):
                await one.step()
    async with opened_service(database_url, clock, catalog, settings) as other:
        await other.step()
        assert [each.status for each in await other.recorded()] == ["SUBMITTING"]
        clock.advance(121)  # the claim of the other service has expired
        await other.step()
        [firing] = await other.recorded()
        assert (firing.status, firing.submitted, firing.busy) == ("SUBMITTED", len(TABLES), 0)
        assert await other.tables() == dict.fromkeys(TABLES, 1)


async def test_a_service_that_lost_its_claim_submits_nothing(
    database_url: str, clock: SetClock, catalog: Listing
) -> None:
    settings = delegation({"nightly": compaction()})
    async with (
        opened_service(database_url, clock, catalog, settings) as one,
        opened_service(database_url, clock, catalog, settings) as other,
    ):
        await one.step()
        clock.set("2026-11-26T02:00Z")
        await one.scheduler.fire()
        claimed = await one.firings.claim()
        assert claimed is not None
        assert await other.firings.claim() is None
        clock.advance(121)
        await other.step()
        await one.scheduler._submission.perform(claimed)
        assert await other.tables() == dict.fromkeys(TABLES, 1)
        assert [each.submitted for each in await other.recorded()] == [len(TABLES)]


async def test_a_claim_is_kept_while_the_catalog_lists(
    store: Store, clock: SetClock, catalog: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = service(store, clock, catalog, tables=["ops.*", "sales.*"])
    await one.step()
    clock.set("2026-11-26T02:00Z")
    renewed = asyncio.Event()
    renew, listing = one.firings.renew, catalog.list_tables

    async def note_renewal(firing: Firing) -> None:
        await renew(firing)
        renewed.set()

    async def list_slowly(schema: str) -> list[str]:
        clock.advance(110)
        for _ in range(2):  # the first one might have read the clock before
            renewed.clear()
            await renewed.wait()
        clock.advance(110)
        assert await other.claim() is None
        return await listing(schema)

    other = Firings(store, now=clock.now)
    monkeypatch.setattr(one.firings, "renew", note_renewal)
    monkeypatch.setattr(catalog, "list_tables", list_slowly)
    monkeypatch.setattr(submission, "_RENEWAL", 0.01)
    await one.step()
    assert [(each.status, each.submitted) for each in await one.recorded()] == [("SUBMITTED", 4)]


class Killed(BaseException):
    """Stands for the end of a process."""


async def _killed(*args: object, **named: object) -> None:
    raise Killed


def _killed_after(done: Any) -> Any:
    async def killed(*args: object) -> None:
        await done(*args)
        raise Killed

    return killed


async def test_old_firings_are_deleted_except_the_last_one_and_those_with_tasks(
    store: Store, clock: SetClock, catalog: Listing
) -> None:
    one = service(store, clock, catalog, tables=["sales.orders"])
    await one.step()
    for day in (26, 27, 28):
        clock.set(f"2026-11-{day}T02:00Z")
        await one.step()
        if day < 28:
            await one.run_all()
    tasks = Retention(store, 36 * 3600, now=clock.now)
    firings = FiringRetention(store, 36 * 3600, now=clock.now)
    clock.set("2026-11-28T03:00Z")
    await firings.prune()
    assert len(await one.recorded()) == 3
    assert await tasks.prune() == 1
    await firings.prune()
    assert [each.fires_at for each in await one.recorded()] == [
        ms(f"2026-11-{day}T02:00Z") for day in (27, 28)
    ]
    clock.set("2026-12-31T00:00Z")
    await firings.prune()
    assert len(await one.recorded()) == 2
    assert await tasks.prune() == 1
    await firings.prune()
    assert [each.fires_at for each in await one.recorded()] == [ms("2026-11-28T02:00Z")]
