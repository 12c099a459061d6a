"""States of schedules in the database: since when they count, and whether they are paused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import func, select, update

from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.statements.clock import NOW
from sluicegate.database.statements.upserts import insert_into
from sluicegate.database.task_tables import schedule_firings, schedules
from sluicegate.delegation.queue.statements import Now


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """The state of a schedule. Times are in epoch milliseconds.

    Attributes:
        last: The last time of its cron expression at which it fired; `None` if it hasn't yet.
        paused_at: When it was paused; `None` if it isn't.
    """

    since: int
    last: int | None
    paused_at: int | None
    paused_by: str | None

    @property
    def settled(self) -> int:
        """The time until which all times are settled."""
        return max(self.since, self.last or 0)


class ScheduleStates:
    """Reads and changes states."""

    def __init__(self, store: Store, *, now: Now = NOW) -> None:
        self._store = store
        self._now = now

    async def add(self, names: Collection[str]) -> None:
        """Let schedules count from now on, unless they are known already."""
        async with self._store.append() as connection:
            await add_states(connection, names, self._now)

    async def read(self) -> tuple[int, Mapping[str, ScheduleState]]:
        """Return the database's time, and the states of all schedules that were ever added."""
        last = (
            select(schedule_firings.c.schedule, func.max(schedule_firings.c.fires_at).label("last"))
            .where(schedule_firings.c.requested_by.is_(None))
            .group_by(schedule_firings.c.schedule)
            .subquery()
        )
        query = select(schedules, last.c.last).outerjoin(last, last.c.schedule == schedules.c.name)
        async with self._store.read() as connection:
            now = (await connection.execute(select(self._now))).scalar_one()
            found = {
                row.name: ScheduleState(row.since, row.last, row.paused_at, row.paused_by)
                for row in await connection.execute(query)
            }
        return now, found

    async def pause(self, name: str, by: str) -> bool:
        """Let a schedule fire no longer, until it is resumed.

        Returns whether it wasn't paused before.
        """
        async with self._store.append() as connection:
            await add_states(connection, [name], self._now)
            changed = update(schedules).where(schedules.c.name == name, schedules.c.paused_at.is_(None))
            values = {"paused_at": self._now, "paused_by": by}
            done = await connection.execute(changed.values(values))
        return done.rowcount > 0

    async def resume(self, name: str) -> bool:
        """Let a schedule fire again, at later times. Returns whether it was paused before."""
        resumed = (
            update(schedules)
            .where(schedules.c.name == name, schedules.c.paused_at.is_not(None))
            .values(paused_at=None, paused_by=None, since=self._now)
        )
        async with self._store.append() as connection:
            done = await connection.execute(resumed)
        return done.rowcount > 0


async def add_states(connection: AsyncConnection, names: Collection[str], now: Now) -> None:
    """Add the states of schedules that have none."""
    known = select(schedules.c.name).where(schedules.c.name.in_(names))
    missing = set(names) - set((await connection.execute(known)).scalars())
    for name in sorted(missing):
        values = {"name": name, "since": now}
        added = insert_into(schedules, connection.dialect.name).values(values)
        await connection.execute(added.on_conflict_do_nothing())
