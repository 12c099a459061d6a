"""What workers and the service measure, read by a real SDK."""

from __future__ import annotations

from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from support.servers.delegation import PURGE, Desk, Failing, RunningClock, payload
from support.tasks.metrics import points

from sluicegate.api import TaskFailed
from sluicegate.delegation.queue.metrics import QueueGauges


async def test_the_queue_is_measured(
    desk: Desk, clock: RunningClock, reader: InMemoryMetricReader
) -> None:
    for number in range(3):
        await desk.queue.submit(payload(f"T{number}"), "polaris")
    await desk.leases.acquire("w", [PURGE])
    clock.advance(90)
    await QueueGauges(desk.store, [PURGE, "TABLE_COMPACTION"], now=clock.now).measure()
    measured = points(reader)
    waiting = {each["operation"]: value for each, value in measured["sluicegate.tasks.waiting"]}
    oldest = {each["operation"]: round(value) for each, value in measured["sluicegate.tasks.oldest"]}
    assert waiting == {PURGE: 2, "TABLE_COMPACTION": 0}
    assert 90 <= oldest.pop(PURGE) < 120
    assert oldest == {"TABLE_COMPACTION": 0}


async def test_attempts_are_counted_by_what_they_led_to(
    desk: Desk, clock: RunningClock, reader: InMemoryMetricReader
) -> None:
    failing = Failing(TaskFailed("busy", error_code="ENGINE_FAILED", retryable=True), times=1)
    task = await desk.queue.submit(payload(), "polaris")
    async with desk.working(failing):
        while (await desk.queue.get(task.id)).status != "RETRY_SCHEDULED":
            pass
    clock.advance(31)
    async with desk.working(failing):
        await desk.ended(task.id)
    expected = [({"operation": PURGE, "outcome": each}, 1) for each in ("RETRY_SCHEDULED", "SUCCESS")]
    measured = points(reader)
    assert sorted(measured["sluicegate.tasks.attempts"], key=str) == expected
    assert sorted(measured["sluicegate.task.duration"], key=str) == expected
