"""Firings of schedules in the database. Each is one row, and happens once (docs/adr/0074).

The row of a firing is committed before its tasks are. It contains the position up to which tasks were
submitted, and moves on in the transactions that submit them, so another service can always continue.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import Row, Select, exists, func, or_, select, update

from sluicegate.api.errors import SluicegateError
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.statements.clock import NOW
from sluicegate.database.statements.upserts import insert_into
from sluicegate.database.task_tables import schedule_firings as firings
from sluicegate.database.task_tables import schedules, tasks
from sluicegate.delegation.queue.failures import storable_text
from sluicegate.delegation.queue.records import UNFINISHED
from sluicegate.delegation.queue.statements import Now
from sluicegate.delegation.schedules.selection import TableName
from sluicegate.delegation.schedules.states import add_states
from sluicegate.telemetry import count

FiringStatus = Literal["SUBMITTING", "SUBMITTED", "SKIPPED", "FAILED"]
_CLAIM = 120_000  # milliseconds; a catalog's listing can take a minute
_LONGEST_MESSAGE = 1_999  # and an ellipsis


class FiringConflict(SluicegateError):
    """A firing can't begin or continue: there is an unfinished one, or another service has it."""

    status = 409
    code = "SCHEDULE_RUNNING"


@dataclass(frozen=True, slots=True)
class Firing:
    """A firing as it was read. Times are in epoch milliseconds.

    Attributes:
        requested_by: Who requested it; `None` for times of the cron expression.
    """

    id: str
    schedule: str
    fires_at: int
    parent_id: str | None
    requested_by: str | None
    opened_at: int
    status: FiringStatus
    version: int
    last_schema: str | None
    last_table: str | None
    capped: bool
    submitted: int
    busy: int
    message: str | None

    @classmethod
    def of(cls, row: Row[Any]) -> Firing:
        """Return the firing in a row."""
        values = {each.name: row._mapping[each.name] for each in fields(cls)}
        return cls(**(values | {"capped": bool(values["capped"])}))

    @property
    def position(self) -> TableName | None:
        """The last table whose task was submitted."""
        if self.last_schema is None or self.last_table is None:
            return None
        return TableName(self.last_schema, self.last_table)


class Firings:
    """Opens firings, and moves them on."""

    def __init__(self, store: Store, *, now: Now = NOW) -> None:
        self._store = store
        self._now = now

    async def open(
        self, schedule: str, fires_at: int, *, may_overlap: bool, parent_id: str | None = None
    ) -> Firing | None:
        """Record that a schedule fires at a time; `None` if it already did, or is paused.

        If tasks of an earlier firing are unfinished and `may_overlap` is false, it is `SKIPPED`.
        """
        async with self._store.append() as connection:
            paused = await self._lock(connection, schedule)
            if paused:
                return None
            running = None if may_overlap else await self._running(connection, schedule)
            firing = await self._add(
                connection, schedule, fires_at, skipped=running, parent_id=parent_id
            )
        if firing is not None and firing.status == "SKIPPED":
            _count(firing)
        return firing

    async def ended(self, schedule: str, after: int) -> Firing | None:
        """Return the last firing of a schedule after a time whose tasks have all ended, or `None`."""
        unfinished = exists().where(
            tasks.c.firing_id == firings.c.id, tasks.c.status.in_(sorted(UNFINISHED))
        )
        query = (
            select(firings)
            .where(
                firings.c.schedule == schedule,
                firings.c.fires_at > after,
                firings.c.status.in_(("SUBMITTED", "FAILED")),
                firings.c.submitted > 0,
                ~unfinished,
            )
            .order_by(firings.c.fires_at.desc())
            .limit(1)
        )
        async with self._store.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else Firing.of(row)

    async def request(self, schedule: str, by: str, *, may_overlap: bool) -> Firing:
        """Record a firing that an operator requests now. A paused schedule also has it."""
        async with self._store.append() as connection:
            await self._lock(connection, schedule)
            running = None if may_overlap else await self._running(connection, schedule)
            if running is not None:
                raise FiringConflict(f"the schedule '{schedule}' does not fire: {running}")
            now = (await connection.execute(select(self._now))).scalar_one()
            added = await self._add(connection, schedule, now, by=by)
            if added is None:
                raise FiringConflict(f"the schedule '{schedule}' fires already at this moment")
            return added

    async def claim(self) -> Firing | None:
        """Return a firing whose tasks no other service submits now; `None` if there is none."""
        free = or_(firings.c.claimed_until.is_(None), firings.c.claimed_until <= self._now)
        oldest = (
            select(firings.c.id)
            .where(firings.c.status == "SUBMITTING", free)
            .order_by(firings.c.opened_at)
            .limit(1)
        )
        # Most times, there is none: then nothing is locked or written.
        async with self._store.read() as connection:
            if (await connection.execute(oldest)).first() is None:
                return None
        async with self._store.append() as connection:
            free_now = oldest.with_for_update(skip_locked=True)
            found = (await connection.execute(free_now)).scalar_one_or_none()
            if found is None:
                return None
            claimed = update(firings).where(firings.c.id == found).returning(firings)
            values = {"claimed_until": self._now + _CLAIM, "version": firings.c.version + 1}
            return Firing.of((await connection.execute(claimed.values(values))).one())

    async def renew(self, firing: Firing) -> None:
        """Prolong a claim while a catalog lists tables."""
        same = (firings.c.id == firing.id, firings.c.version == firing.version)
        renewed = update(firings).where(*same, firings.c.status == "SUBMITTING")
        async with self._store.append() as connection:
            await connection.execute(renewed.values(claimed_until=self._now + _CLAIM))

    async def move(self, connection: AsyncConnection, firing: Firing, **changes: Any) -> Firing:
        """Change a claimed firing, and prolong the claim."""
        same = (firings.c.id == firing.id, firings.c.version == firing.version)
        values = {"claimed_until": self._now + _CLAIM, "version": firing.version + 1, **changes}
        if values.get("message") is not None:
            values["message"] = storable_message(values["message"])
        changed = update(firings).where(*same).values(values).returning(firings)
        row = (await connection.execute(changed)).one_or_none()
        if row is None:
            raise FiringConflict(f"another service continues the firing {firing.id}")
        return Firing.of(row)

    async def end(
        self, firing: Firing, status: FiringStatus, message: str | None, *, capped: bool = False
    ) -> Firing:
        """Record that a claimed firing submits no more tasks."""
        async with self._store.append() as connection:
            ended = await self.move(
                connection, firing, status=status, message=message, capped=int(capped)
            )
        _count(ended)
        return ended

    async def postpone(self, firing: Firing, seconds: int, message: str) -> None:
        """Let a service try again later."""
        until = self._now + seconds * 1000
        async with self._store.append() as connection:
            await self.move(connection, firing, claimed_until=until, message=message)

    async def start_of(self, firing: Firing) -> TableName | None:
        """Return the table after which a new firing begins: where a capped one ended before."""
        before = (
            select(firings)
            .where(
                firings.c.schedule == firing.schedule,
                firings.c.status == "SUBMITTED",
                firings.c.opened_at < firing.opened_at,
            )
            .order_by(firings.c.opened_at.desc())
            .limit(1)
        )
        async with self._store.read() as connection:
            row = (await connection.execute(before)).one_or_none()
        last = None if row is None else Firing.of(row)
        return last.position if last is not None and last.capped else None

    async def _lock(self, connection: AsyncConnection, schedule: str) -> bool:
        """Exclude other firings of a schedule until the transaction ends; return if it is paused."""
        await add_states(connection, [schedule], self._now)
        query = select(schedules.c.paused_at).where(schedules.c.name == schedule).with_for_update()
        return (await connection.execute(query)).scalar_one() is not None

    async def _running(self, connection: AsyncConnection, schedule: str) -> str | None:
        """Return why a schedule must not fire now."""
        last = (await connection.execute(_last(schedule))).scalar_one_or_none()
        if last is not None and last == "SUBMITTING":
            return "an earlier firing still submits tasks"
        unfinished = select(func.count()).where(
            tasks.c.schedule == schedule, tasks.c.status.in_(sorted(UNFINISHED))
        )
        count = (await connection.execute(unfinished)).scalar_one()
        return f"{count} tasks of an earlier firing are unfinished" if count else None

    async def _add(
        self,
        connection: AsyncConnection,
        schedule: str,
        fires_at: int,
        *,
        skipped: str | None = None,
        by: str | None = None,
        parent_id: str | None = None,
    ) -> Firing | None:
        values = {
            "id": str(uuid4()),
            "schedule": schedule,
            "fires_at": fires_at,
            "parent_id": parent_id,
            "requested_by": by,
            "opened_at": self._now,
            "status": "SUBMITTING" if skipped is None else "SKIPPED",
            "version": 1,
            "capped": 0,
            "submitted": 0,
            "busy": 0,
            "message": skipped,
        }
        added = insert_into(firings, connection.dialect.name).values(values)
        once = added.on_conflict_do_nothing().returning(firings)
        row = (await connection.execute(once)).one_or_none()
        return None if row is None else Firing.of(row)


def storable_message(message: str) -> str:
    """Return a message, which can contain text of a catalog, as all databases store it."""
    return storable_text(message, _LONGEST_MESSAGE)


def _last(schedule: str) -> Select[Any]:
    """Select the status of a schedule's last firing that wasn't skipped."""
    return (
        select(firings.c.status)
        .where(firings.c.schedule == schedule, firings.c.status != "SKIPPED")
        .order_by(firings.c.opened_at.desc())
        .limit(1)
    )


def _count(firing: Firing) -> None:
    count("sluicegate.schedules.firings", schedule=firing.schedule, outcome=firing.status)
    if firing.submitted:
        count("sluicegate.schedules.tasks", firing.submitted, schedule=firing.schedule)
