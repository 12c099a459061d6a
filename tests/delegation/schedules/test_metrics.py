"""What services measure of schedules, read by a real SDK."""

from __future__ import annotations

from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from support.tasks.metrics import points
from support.tasks.scheduled import Listing, ScheduledService, SetClock, compaction, delegation

from sluicegate.api.errors import PermissionDenied
from sluicegate.database import Store


async def test_firings_and_their_tasks_are_counted(store: Store, reader: InMemoryMetricReader) -> None:
    clock = SetClock("2026-11-26T00:00Z")
    catalog = Listing({"s": ["a", "b"]})
    settings = delegation({"nightly": compaction(), "hourly": compaction(cron="0 3 * * *")})
    one = ScheduledService(store, clock, catalog, settings)
    await one.step()
    for day in (26, 27):  # the tasks of the first firing are unfinished at the second one
        clock.set(f"2026-11-{day}T02:00Z")
        await one.step()
    catalog.failures["s"] = PermissionDenied("no listing")
    clock.set("2026-11-27T03:00Z")
    await one.step()
    measured = points(reader)
    firings = measured["sluicegate.schedules.firings"]
    assert {(each["schedule"], each["outcome"]): value for each, value in firings} == {
        ("nightly", "SUBMITTED"): 1,
        ("nightly", "SKIPPED"): 1,
        ("hourly", "FAILED"): 1,
    }
    assert measured["sluicegate.schedules.tasks"] == [({"schedule": "nightly"}, 2)]
