"""Which tasks a firing submits, when they can start, and what is recorded if it cannot submit them."""

from __future__ import annotations

from typing import Any

import pytest
from support.tasks.scheduled import (
    COMPACTION,
    Listing,
    ScheduledService,
    SetClock,
    compaction,
    delegation,
)

from sluicegate.api.errors import PermissionDenied, Unavailable
from sluicegate.database import Store

MANY = {f"s{schema}": [f"t{table:03}" for table in range(130)] for schema in range(2)}
EVENING = "2026-11-26T22:00Z"


@pytest.fixture
def clock() -> SetClock:
    return SetClock("2026-11-26T00:00Z")


async def fired(
    store: Store, clock: SetClock, catalog: Listing, at: str = "2026-11-26T02:00Z", **changed: Any
) -> ScheduledService:
    """A service whose schedule has just fired."""
    settings = delegation({"nightly": compaction(**changed)})
    one = ScheduledService(store, clock, catalog, settings)
    await one.step()
    clock.set(at)
    await one.step()
    return one


async def test_a_task_names_its_schedule_and_its_firing(store: Store, clock: SetClock) -> None:
    catalog = Listing({"sales.emea": ["v1.2"]})
    properties = {"strategy": "sort"}
    one = await fired(store, clock, catalog, priority=7, properties=properties)
    [firing] = await one.recorded()
    [task] = await one.tasks(schedule="nightly")
    assert await one.tasks(schedule="other") == []
    assert (task.schedule, task.firing_id) == ("nightly", firing.id)
    assert (task.operation, task.realm, task.priority) == (COMPACTION, "default-realm", 7)
    assert task.submitted_by == "schedule:nightly"
    parameters = task.payload["operation_parameters"]
    assert parameters["properties"] == properties
    assert parameters["table_identity"] == {
        "table_entity_id": "sales.emea.v1%2E2",
        "catalog_name": "lake",
        "namespace_levels": ["sales", "emea"],
        "table_name": "v1.2",
    }


async def test_names_are_not_looked_up(store: Store, clock: SetClock) -> None:
    catalog = Listing({})
    one = await fired(store, clock, catalog, tables=["sales.orders", "ops.jobs"])
    assert set(await one.tables()) == {"sales.orders", "ops.jobs"}
    assert catalog.listed == []


async def test_large_listings_are_submitted_in_parts(store: Store, clock: SetClock) -> None:
    one = await fired(store, clock, Listing(MANY))
    assert [each.submitted for each in await one.recorded()] == [260]
    assert set((await one.tables()).values()) == {1}


async def test_the_next_firing_continues_after_the_limit(store: Store, clock: SetClock) -> None:
    one = await fired(store, clock, Listing(MANY), max_tasks=150)
    await run_all(one)
    for day in (27, 28):
        clock.set(f"2026-11-{day}T02:00Z")
        await one.step()
        await run_all(one)
    found = await one.recorded()
    assert [each.submitted for each in found] == [150, 110, 150]
    assert found[0].message == "max_tasks (150) is reached: the next firing continues"
    assert [each.capped for each in found] == [True, False, True]
    tables = await one.tables()
    assert len(tables) == 260
    assert sorted(tables.values()) == [1] * 110 + [2] * 150


async def run_all(one: ScheduledService) -> None:
    """End all tasks; cancellation is faster than running them."""
    for task in await one.tasks():
        if not task.ended:
            await one.queue.cancel(task.id)


async def test_the_limit_is_exact_at_the_end_of_a_listing(store: Store, clock: SetClock) -> None:
    one = await fired(store, clock, Listing({"s": ["a", "b"]}), max_tasks=2)
    assert [(each.submitted, each.capped) for each in await one.recorded()] == [(2, False)]


async def test_tasks_start_only_in_their_window(store: Store, clock: SetClock) -> None:
    catalog = Listing({"s": ["a", "b", "c"]})
    one = await fired(
        store, clock, catalog, window="22:00-04:00", cron="0 20 * * *", at="2026-11-26T20:00Z"
    )
    assert await one.leases.acquire("worker", [COMPACTION]) is None
    clock.set(EVENING)
    first = await one.leases.acquire("worker", [COMPACTION])
    assert first is not None
    running = await one.leases.start(first)
    clock.set("2026-11-27T03:30Z")
    assert await one.leases.beat(running) == "held"
    clock.set("2026-11-27T04:00Z")
    assert await one.leases.acquire("worker", [COMPACTION]) is None
    assert await one.windows.end() == 2
    assert await one.windows.end() == 0
    states = sorted((each.status, each.error_code) for each in await one.tasks() if each.ended)
    assert states == [("FAILURE", "START_WINDOW_CLOSED")] * 2
    assert await one.leases.beat(running) == "held"
    clock.advance(3601)  # its worker is lost, and no other one may start it now
    assert await one.leases.acquire("worker", [COMPACTION]) is None
    assert await one.windows.end() == 1
    assert {each.start_by for each in await one.tasks()} == {None}


async def test_an_operator_can_retry_a_task_outside_of_its_window(
    store: Store, clock: SetClock
) -> None:
    one = await fired(store, clock, Listing({"s": ["a"]}), window="02:00-03:00")
    clock.set("2026-11-26T03:00Z")
    assert await one.windows.end() == 1
    [task] = await one.tasks()
    await one.queue.retry(task.id)
    assert await one.run_all() == 1


async def test_a_firing_fails_if_its_window_closes_before_the_catalog_answers(
    store: Store, clock: SetClock
) -> None:
    catalog = Listing({"s": ["a"]}, {"s": Unavailable("the catalog is down")})
    one = await fired(store, clock, catalog, window="02:00-02:30")
    clock.set("2026-11-26T02:31Z")
    await one.step()
    [firing] = await one.recorded()
    assert (firing.status, firing.submitted) == ("FAILED", 0)
    assert firing.message == "the window closed before all tasks were submitted"


async def test_a_catalog_that_does_not_respond_is_tried_again(store: Store, clock: SetClock) -> None:
    catalog = Listing({"r": ["a"], "s": ["a"]}, {"s": Unavailable("the catalog is down")})
    one = await fired(store, clock, catalog)
    [firing] = await one.recorded()
    assert (firing.status, firing.submitted) == ("SUBMITTING", 1)
    assert firing.message == "the catalog is down"
    await one.step()
    assert catalog.listed == ["r", "s"]  # not yet
    clock.advance(31)
    await one.step()
    [firing] = await one.recorded()
    assert (firing.status, firing.submitted, firing.message) == ("SUBMITTED", 2, None)
    assert await one.tables() == {"r.a": 1, "s.a": 1}


async def test_a_catalog_that_does_not_respond_for_an_hour_ends_the_firing(
    store: Store, clock: SetClock
) -> None:
    down = Unavailable("the catalog is down")
    catalog = Listing({"s": ["a"]}, {"s": down})
    one = await fired(store, clock, catalog)
    catalog.failures["s"] = down
    clock.advance(3601)
    await one.step()
    [firing] = await one.recorded()
    assert (firing.status, firing.message) == ("FAILED", "the catalog is down")


async def test_a_catalog_that_refuses_ends_the_firing(store: Store, clock: SetClock) -> None:
    catalog = Listing({"s": ["a"]}, {"s": PermissionDenied("the gateway cannot list s")})
    one = await fired(store, clock, catalog)
    [firing] = await one.recorded()
    assert (firing.status, firing.message) == ("FAILED", "the gateway cannot list s")


async def test_missing_schemas_and_unusable_names_are_reported(store: Store, clock: SetClock) -> None:
    catalog = Listing({"s": ["a", "b" * 2000, "null\0", "\ud800"], "\0": ["a"]})
    one = await fired(store, clock, catalog, tables=["*.*", "gone.*"])
    [firing] = await one.recorded()
    assert (firing.status, firing.submitted) == ("SUBMITTED", 1)
    assert firing.message == (
        "4 names of schemas or tables cannot be those of a task; the catalog has no schema 'gone'"
    )


async def test_an_unexpected_error_is_tried_again_and_never_shown(
    store: Store, clock: SetClock, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = Listing({"s": ["a"]}, {"s": ValueError("the password is hunter2")})
    one = await fired(store, clock, catalog)
    [firing] = await one.recorded()
    assert (firing.status, firing.message) == (
        "SUBMITTING",
        "an unexpected error stopped the service that submitted tasks",
    )
    assert "hunter2" in caplog.text
    clock.advance(31)
    await one.step()
    assert [each.status for each in await one.recorded()] == ["SUBMITTED"]


async def test_messages_of_catalogs_are_stored_without_what_databases_refuse(
    store: Store, clock: SetClock
) -> None:
    catalog = Listing({"s": ["a"]}, {"s": PermissionDenied("no\0 \ud800" + "x" * 5000)})
    one = await fired(store, clock, catalog)
    [firing] = await one.recorded()
    assert firing.status == "FAILED"
    assert str(firing.message).startswith("no\ufffd \ufffdxxx")
    assert len(str(firing.message)) == 2000


async def test_a_secret_that_a_long_message_is_cut_in_is_not_stored(
    store: Store, clock: SetClock
) -> None:
    secret = "slg_" + "s3cr3tOf" * 5
    catalog = Listing({"s": ["a"]}, {"s": PermissionDenied("x" * 1989 + " " + secret)})
    one = await fired(store, clock, catalog)
    [firing] = await one.recorded()
    assert "s3cr3t" not in str(firing.message)


async def test_busy_tables_do_not_count_for_the_limit(store: Store, clock: SetClock) -> None:
    tables = [f"t{number}" for number in range(6)]
    one = await fired(store, clock, Listing({"s": tables}), max_tasks=3, overlap="allow")
    assert [each.submitted for each in await one.recorded()] == [3]
    # The second firing begins after the third table, and the third one again with the first.
    for day in (27, 28):
        clock.set(f"2026-11-{day}T02:00Z")
        await one.step()
    last = (await one.recorded())[-1]
    assert (last.submitted, last.busy, last.capped) == (0, 6, False)


async def test_a_firing_without_tables_says_so(store: Store, clock: SetClock) -> None:
    one = await fired(store, clock, Listing({"s": ["a"]}), tables=["s.b*"])
    assert [each.message for each in await one.recorded()] == ["no table matches"]


async def test_a_schedule_has_only_what_its_realm_is_granted(store: Store, clock: SetClock) -> None:
    granted = {"catalogs": ["lake"], "operations": [COMPACTION], "locations": ["s3://lake/"]}
    settings = delegation(
        {"nightly": compaction(realm="prod", properties={"location": "s3://elsewhere/t"})},
        realms={"prod": granted},
    )
    one = ScheduledService(store, clock, Listing({"s": ["a"]}), settings)
    await one.step()
    clock.set("2026-11-26T02:00Z")
    await one.step()
    [firing] = await one.recorded()
    assert firing.status == "FAILED"
    assert "is not granted the location 's3://elsewhere/t'" in str(firing.message)
    assert await one.tasks() == []


async def test_a_firing_of_a_removed_schedule_fails(store: Store, clock: SetClock) -> None:
    one = await fired(store, clock, Listing({}), tables=["s.a"])
    await one.firings.request("other", "operator", may_overlap=False)
    await one.step()
    message = "the schedule is not in the configuration of this service"
    assert [each.message for each in await one.recorded()] == [None, message]
