"""Fires schedules. Any number of services can do so concurrently: each firing happens once."""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
from sqlalchemy import delete, exists, select

from sluicegate.api.errors import Unavailable
from sluicegate.config import Settings
from sluicegate.database import StatementRefused, Store
from sluicegate.database.statements.clock import NOW
from sluicegate.database.task_tables import schedule_firings as firings
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.grants import RealmGrants
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.statements import Now
from sluicegate.delegation.schedules.firings import Firings
from sluicegate.delegation.schedules.schedule import Schedule, schedules_of
from sluicegate.delegation.schedules.states import ScheduleStates
from sluicegate.delegation.schedules.submission import Submission
from sluicegate.plugins import ConfiguredInstances, Instances, Registry
from sluicegate.plugins.catalogs.guarded import GuardedCatalog
from sluicegate.plugins.context import NoLinks


class FiringRetention:
    """Deletes firings after a time. Several processes can do so concurrently."""

    def __init__(self, store: Store, seconds: int, *, now: Now = NOW) -> None:
        self._store = store
        self._seconds = seconds
        self._now = now

    async def prune(self) -> None:
        """Delete old firings without tasks, except the last one of each schedule.

        The last one is the time until which all times are settled.
        """
        later = firings.alias("later")
        has_later = exists().where(
            later.c.schedule == firings.c.schedule,
            later.c.requested_by.is_(None),
            later.c.fires_at > firings.c.fires_at,
        )
        has_tasks = exists().where(tasks.c.firing_id == firings.c.id)
        is_old = firings.c.opened_at < self._now - self._seconds * 1000
        has_ended = firings.c.status != "SUBMITTING"
        query = select(firings.c.id).where(is_old, has_ended, has_later, ~has_tasks)
        async with self._store.read() as connection:
            if (await connection.execute(query.limit(1))).first() is None:
                return
        async with self._store.append() as connection:
            await connection.execute(delete(firings).where(firings.c.id.in_(query)))


log = logging.getLogger(__name__)

_INTERVAL = 5.0
_RETENTION_INTERVAL = 3600.0


class Scheduler:
    """Opens firings when they are due, and submits their tasks."""

    def __init__(
        self,
        schedules: Mapping[str, Schedule],
        states: ScheduleStates,
        firings: Firings,
        submission: Submission,
        retention: FiringRetention,
    ) -> None:
        self._schedules = schedules
        self._states = states
        self._firings = firings
        self._submission = submission
        self._retention = retention

    async def run(self) -> None:
        """Fire until canceled. A slow catalog delays no other firing's time."""
        async with anyio.create_task_group() as group:
            group.start_soon(_repeated, self.fire)
            group.start_soon(_repeated, self.submit)
            group.start_soon(_repeated, self._retention.prune, _RETENTION_INTERVAL)

    async def fire(self) -> None:
        """Open all firings that are due."""
        now, states = await self._states.read()
        unknown = self._schedules.keys() - states.keys()
        if unknown:
            await self._states.add(unknown)
        for name, schedule in self._schedules.items():
            state = states.get(name)
            if state is None or state.paused_at is not None or not schedule.settings.enabled:
                continue
            if schedule.settings.after is not None:
                before = await self._firings.ended(schedule.settings.after, state.settled)
                if before is not None:
                    await self._open(schedule, before.fires_at, parent_id=before.id)
                continue
            due = schedule.due(state.settled, now)
            if due is not None:
                await self._open(schedule, due)

    async def submit(self) -> None:
        """Submit the tasks of all open firings that no other service has."""
        while (firing := await self._firings.claim()) is not None:
            await self._submission.perform(firing)

    async def _open(self, schedule: Schedule, due: int, *, parent_id: str | None = None) -> None:
        may_overlap = schedule.settings.overlap == "allow"
        firing = await self._firings.open(
            schedule.name, due, may_overlap=may_overlap, parent_id=parent_id
        )
        if firing is not None and firing.status == "SKIPPED":
            log.warning("schedule %s skips a firing: %s", schedule.name, firing.message)


async def _repeated(step: Callable[[], Awaitable[None]], interval: float = _INTERVAL) -> None:
    while True:
        try:
            await step()
        except (Unavailable, StatementRefused) as error:
            log.warning("schedules do not fire now: %s", error.detail or error.message)
        except Exception:  # the next step starts from the database again
            log.exception("schedules do not fire now")
        # Slightly less than the interval, so that services don't query simultaneously.
        await anyio.sleep(interval * random.uniform(0.75, 1))  # noqa: S311 (jitter)


@asynccontextmanager
async def opened_scheduler(
    settings: Settings,
    registry: Registry,
    configured: ConfiguredInstances,
    store: Store,
    cipher: PayloadCipher,
    *,
    now: Now = NOW,
) -> AsyncIterator[Scheduler]:
    """Return the scheduler of a service; its catalogs are closed at the end of the block."""
    schedules = schedules_of(settings.delegation)
    needed = {
        each.settings.listed_in
        for each in schedules.values()
        if each.times is not None and each.selection.lists_tables
    }
    catalogs = tuple(each for each in configured.catalogs if each.name in needed)
    instances = Instances(
        registry,
        replace(configured, catalogs=catalogs, authenticators=(), policies=()),
        links=NoLinks,
        guard=lambda entry, catalog: GuardedCatalog(entry.name, catalog, entry.config),
    )
    firings = Firings(store, now=now)
    grants = RealmGrants.configured(settings.delegation, configured)
    submission = Submission(store, schedules, firings, cipher, grants, instances.catalogs, now)
    retention = FiringRetention(store, settings.delegation.retention, now=now)
    try:
        yield Scheduler(schedules, ScheduleStates(store, now=now), firings, submission, retention)
    finally:
        await instances.aclose()
