"""Services that fire schedules, on one database and by one clock, which tests set."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, bindparam, select
from support.servers.delegation import KEY

from sluicegate._util.clock import ms_of
from sluicegate.api import Catalog, CatalogTable, TaskResult
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.database.task_tables import schedule_firings
from sluicegate.delegation.grants import RealmGrants
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.leases import Leases
from sluicegate.delegation.queue.statements import Now
from sluicegate.delegation.queue.tasks import TaskFilter, TaskQueue
from sluicegate.delegation.schedules.closed_windows import ClosedWindows
from sluicegate.delegation.schedules.firings import Firing, Firings
from sluicegate.delegation.schedules.schedule import schedules_of
from sluicegate.delegation.schedules.scheduler import FiringRetention, Scheduler
from sluicegate.delegation.schedules.states import ScheduleStates
from sluicegate.delegation.schedules.submission import Submission
from sluicegate.signing.keyring import KeyRing

COMPACTION = "TABLE_COMPACTION"


def ms(text: str) -> int:
    """Epoch milliseconds of an ISO time with an offset."""
    return ms_of(datetime.fromisoformat(text).astimezone(UTC))


class SetClock:
    """The database's clock, which stands still until a test sets it."""

    def __init__(self, text: str) -> None:
        self.at = ms(text)
        self.now: Now = bindparam(None, callable_=lambda: self.at, type_=BigInteger(), unique=True)

    def set(self, text: str) -> None:
        """Set the time."""
        self.at = ms(text)

    def advance(self, seconds: int) -> None:
        """Let time pass."""
        self.at += seconds * 1000


@dataclass
class Listing(Catalog):
    """A catalog that lists tables, or fails."""

    schemas: Mapping[str, list[str]]
    failures: dict[str, BaseException] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)

    async def list_schemas(self) -> list[str]:
        """All schemas."""
        return sorted(self.schemas)

    async def list_tables(self, schema: str) -> list[str]:
        """The tables of one."""
        from sluicegate.api.errors import NotFound

        self.listed.append(schema)
        if schema in self.failures:
            raise self.failures.pop(schema)
        if schema not in self.schemas:
            raise NotFound(f"there is no schema {schema}")
        return sorted(self.schemas[schema])

    def identifier(self, schema: str, table: str) -> str:
        """Schema and table."""
        return f"{schema}.{table}"

    async def load_table(self, identifier: str) -> CatalogTable:
        """Schedules load no tables."""
        raise AssertionError(identifier)


def compaction(**changed: Any) -> dict[str, Any]:
    """The section of a schedule that compacts all tables at 02:00."""
    section = {"cron": "0 2 * * *", "operation": COMPACTION, "catalog": "lake", "tables": ["*.*"]}
    return section | changed


class ScheduledService:
    """One service: its own connections, and everything that uses them."""

    def __init__(
        self, store: Store, clock: SetClock, catalog: Catalog, settings: DelegationSettings
    ) -> None:
        cipher, now = PayloadCipher(KeyRing((KEY,))), clock.now
        schedules = schedules_of(settings)
        self.store = store
        self.queue = TaskQueue(store, cipher, now=now)
        self.leases = Leases(store, settings, now=now)
        self.states = ScheduleStates(store, now=now)
        self.firings = Firings(store, now=now)
        self.windows = ClosedWindows(store, now=now)
        grants, catalogs = RealmGrants(settings), {"lake": catalog}
        parts = (store, schedules, self.firings, cipher, grants, catalogs, now)
        self.firing_retention = FiringRetention(store, settings.retention, now=now)
        self.scheduler = Scheduler(
            schedules, self.states, self.firings, Submission(*parts), self.firing_retention
        )

    async def step(self) -> None:
        """What a service does every few seconds."""
        await self.scheduler.fire()
        await self.scheduler.submit()

    async def recorded(self) -> list[Firing]:
        """All firings, from the earliest."""
        query = select(schedule_firings).order_by(
            schedule_firings.c.fires_at, schedule_firings.c.opened_at
        )
        async with self.store.read() as connection:
            return [Firing.of(row) for row in await connection.execute(query)]

    async def tasks(self, **wanted: Any) -> list[Any]:
        """The records of tasks."""
        return await self.queue.find(TaskFilter(limit=10_000, **wanted))

    async def tables(self) -> Counter[str]:
        """How many tasks each table ever had."""
        return Counter(each.table.removeprefix("lake.") for each in await self.tasks())

    async def run_all(self, operation: str = COMPACTION) -> int:
        """Let a worker run all due tasks, and return their number."""
        done = 0
        while (task := await self.leases.acquire("worker", [operation])) is not None:
            await self.leases.succeed(await self.leases.start(task), TaskResult("done"))
            done += 1
        return done


def delegation(schedules: Mapping[str, Mapping[str, Any]], **changed: Any) -> DelegationSettings:
    """The section `delegation` with some schedules."""
    return DelegationSettings.model_validate({"schedules": schedules, **changed})


@asynccontextmanager
async def opened_service(
    url: str, clock: SetClock, catalog: Catalog, settings: DelegationSettings
) -> AsyncIterator[ScheduledService]:
    """A service with its own connections."""
    store = await Store.open(url)
    try:
        yield ScheduledService(store, clock, catalog, settings)
    finally:
        await store.aclose()
