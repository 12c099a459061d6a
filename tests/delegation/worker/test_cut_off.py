"""A worker that can't reach the database for longer than its lease lasts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import anyio
import pytest
from support.servers.delegation import Desk, payload
from support.tasks.signals import Signal

from sluicegate.api import DelegatedTask, TaskExecutor, TaskFailed, TaskResult, TaskRun, Unavailable
from sluicegate.config.sections.delegation import DelegationSettings, LeaseSettings
from sluicegate.delegation.queue.leases import Beat

# Leases are the same statements on both databases.
pytestmark = pytest.mark.parametrize(
    "database_url",
    [
        "postgresql",
        pytest.param(
            "sqlite", marks=pytest.mark.night("test_it_stops_by_itself_and_gives_the_task_back")
        ),
    ],
    indirect=True,
)
RAN = ["SUBMITTED", "ACQUIRING_RESOURCES", "RUNNING"]


@dataclass
class Deleting(TaskExecutor):
    """Changes a table until it is told to stop."""

    started: Signal = field(default_factory=Signal)
    stopped: Signal = field(default_factory=Signal)

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Run until the task is cancelled."""
        self.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.stopped.set()
        return TaskResult("nobody told it to stop")


@dataclass
class InWaves(TaskExecutor):
    """Deletes in two waves, and checks its lease before each."""

    begun: Signal = field(default_factory=Signal)
    go: Signal = field(default_factory=Signal)
    lost: Signal = field(default_factory=Signal)
    waves: list[int] = field(default_factory=list)

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Wait between the waves."""
        try:
            for wave in (1, 2):
                await run.check_lease()
                self.waves.append(wave)
                self.begun.set()
                await self.go.wait()
        except TaskFailed:
            self.lost.set()
            raise
        return TaskResult("deleted")


@pytest.fixture
def impatient(desk: Desk) -> Desk:
    """With leases of two seconds, in which a busy machine can start an attempt."""
    given = DelegationSettings.model_validate({"worker": {"poll_interval": 3600, "drain_timeout": 0}})
    lease = LeaseSettings.model_construct(ttl=2, heartbeat=cast("int", 0.1))
    return replace(desk, settings=given.model_copy(update={"lease": lease}))


async def fail(*_: Any) -> None:
    raise Unavailable("the database does not respond")


async def fail_late(*_: Any) -> None:
    await anyio.sleep(3)  # longer than a lease
    raise Unavailable("the database does not respond")


@pytest.mark.parametrize("beat", [fail, fail_late])
async def test_it_stops_by_itself_and_gives_the_task_back(
    impatient: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, beat: Any
) -> None:
    task, executor = await impatient.queue.submit(payload(), "polaris"), Deleting()
    with anyio.fail_after(20):
        async with impatient.working(executor) as worker:
            await executor.started.wait()
            monkeypatch.setattr(impatient.leases, "beat", beat)
            await executor.stopped.wait()
            monkeypatch.undo()
            worker.drain()
    assert (await impatient.statuses(task.id))[:4] == [*RAN, "RETRY_SCHEDULED"]
    assert (await impatient.queue.history(task.id))[3].result_summary == "the worker was stopped"
    assert "no heartbeat was stored during lease.ttl" in caplog.text


async def test_heartbeats_let_it_continue(impatient: Desk) -> None:
    await impatient.queue.submit(payload(), "polaris")
    executor = Deleting()
    with anyio.fail_after(20):
        async with impatient.working(executor):
            await executor.started.wait()
            with anyio.move_on_after(3) as waiting:
                await executor.stopped.wait()
    assert waiting.cancelled_caught


async def test_a_task_that_another_worker_has_taken_over_stays_with_it(
    impatient: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    task, executor = await impatient.queue.submit(payload(), "polaris"), Deleting()
    with anyio.fail_after(20):
        async with impatient.working(executor):
            await executor.started.wait()
            monkeypatch.setattr(impatient.leases, "beat", fail)
            impatient.clock.advance(2)
            taken = await impatient.leases.acquire("another", [task.operation])
            assert taken is not None
            await executor.stopped.wait()
    assert "another worker has the task" in caplog.text
    found = await impatient.queue.get(task.id)
    assert (found.leased_by, found.version) == ("another", taken.version)


@dataclass
class Unhurried(Deleting):
    """Takes longer than a lease to stop."""

    async def run(self, task: DelegatedTask, resources: Any, run: TaskRun) -> TaskResult:
        """Run until the task is cancelled, and then for a while."""
        try:
            return await super().run(task, resources, run)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(3)


async def test_heartbeats_also_prolong_the_lease_of_a_task_that_is_being_cancelled(
    impatient: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    task, executor = await impatient.queue.submit(payload(), "polaris"), Unhurried()
    with anyio.fail_after(20):
        async with impatient.working(executor):
            await executor.started.wait()
            await impatient.queue.cancel(task.id)
            assert (await impatient.ended(task.id)).error_code == "TASK_CANCELLED"
    assert "no heartbeat was stored" not in caplog.text


@pytest.fixture
def unobserved(desk: Desk) -> Desk:
    """Without heartbeats, as if the worker's own loop and clock had been stopped."""
    given = DelegationSettings.model_validate({"worker": {"poll_interval": 3600, "drain_timeout": 0}})
    lease = LeaseSettings.model_construct(ttl=3600, heartbeat=1800)
    return replace(desk, settings=given.model_copy(update={"lease": lease}))


async def test_no_wave_begins_once_another_worker_has_the_task(
    unobserved: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    task, executor = await unobserved.queue.submit(payload(), "polaris"), InWaves()
    with anyio.fail_after(20):
        async with unobserved.working(executor):
            await executor.begun.wait()
            unobserved.clock.advance(4000)
            taken = await unobserved.leases.acquire("another", [task.operation])
            assert taken is not None
            executor.go.set()
            await executor.lost.wait()
    assert executor.waves == [1]
    assert "another worker has it" in caplog.text
    assert (await unobserved.queue.get(task.id)).version == taken.version


async def test_no_wave_begins_once_the_task_is_cancelled(unobserved: Desk) -> None:
    task, executor = await unobserved.queue.submit(payload(), "polaris"), InWaves()
    with anyio.fail_after(20):
        async with unobserved.working(executor):
            await executor.begun.wait()
            await unobserved.queue.cancel(task.id)
            executor.go.set()
            assert (await unobserved.ended(task.id)).error_code == "TASK_CANCELLED"
    assert executor.waves == [1]


async def test_a_wave_waits_for_the_database(unobserved: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    task, executor = await unobserved.queue.submit(payload(), "polaris"), InWaves()
    asked = Signal()

    async def fail_once(*arguments: Any) -> Any:
        monkeypatch.undo()
        asked.set()
        raise Unavailable("the database does not respond")

    with anyio.fail_after(20):
        async with unobserved.working(executor):
            await executor.begun.wait()
            monkeypatch.setattr(unobserved.leases, "beat", fail_once)
            executor.go.set()
            await asked.wait()
            assert (await unobserved.ended(task.id)).status == "SUCCESS"
    assert executor.waves == [1, 2]


async def test_a_check_prolongs_the_lease(unobserved: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    task, executor = await unobserved.queue.submit(payload(), "polaris"), InWaves()
    executor.go.set()
    beat, prolonged = unobserved.leases.beat, list[Beat]()

    async def noted(*arguments: Any) -> Beat:
        prolonged.append(await beat(*arguments))
        return prolonged[-1]

    monkeypatch.setattr(unobserved.leases, "beat", noted)
    with anyio.fail_after(20):
        async with unobserved.working(executor):
            assert (await unobserved.ended(task.id)).status == "SUCCESS"
    assert (prolonged, executor.waves) == (["held", "held"], [1, 2])
