"""The task queue: submit, find, cancel and retry tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, func, null, or_, select, update
from sqlalchemy.exc import IntegrityError

from sluicegate.api.delegation.issued import IssuedAccess
from sluicegate.api.errors import NotFound, SluicegateError
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.statements.clock import NOW
from sluicegate.database.task_tables import task_versions, tasks
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.leases import end_cancelled
from sluicegate.delegation.queue.new_tasks import new_task
from sluicegate.delegation.queue.records import LEASED, Status, TaskRecord, TaskVersion
from sluicegate.delegation.queue.statements import After, Now
from sluicegate.delegation.queue.transitions import create, move
from sluicegate.delegation.task_payload import TaskPayload, subject_of
from sluicegate.telemetry import span
from sluicegate.vending.ledger_search import entries_from

_LISTED = tuple(null().label("sealed") if each is tasks.c.sealed else each for each in tasks.c)


class TaskConflict(SluicegateError):
    """A request conflicts with an existing task."""

    status = 409

    def __init__(self, message: str, *, code: str, task_id: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.task_id = task_id


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Which tasks to list; `None` matches all. `after` is the id of the last task listed before."""

    realms: Collection[str] | None = None
    status: Status | None = None
    operation: str | None = None
    correlation_id: str | None = None
    schedule: str | None = None
    limit: int = 100
    after: str | None = None


class TaskQueue:
    """Provides access to all tasks, for clients and operators."""

    def __init__(self, store: Store, cipher: PayloadCipher, *, now: Now = NOW) -> None:
        self._store = store
        self._cipher = cipher
        self._now = now

    async def submit(self, payload: TaskPayload, client: str) -> TaskRecord:
        """Store a task, or find the one that this request repeats and renew its credentials."""
        with span("task.submit", operation=payload.common_payload.operation):
            return await self._submit(payload, new_task(payload, client, self._cipher))

    async def _submit(self, payload: TaskPayload, values: dict[str, object]) -> TaskRecord:
        async with self._store.append() as connection:
            known = await self._repeated(connection, payload, values)
            if known is not None:
                return known
            try:
                async with connection.begin_nested():
                    return await create(connection, values, self._now)
            except IntegrityError:
                known = await self._repeated(connection, payload, values)
        if known is None:
            raise TaskConflict("the conflicting task has just ended; try again", code="CONFLICT")
        return known

    async def get(self, task_id: str) -> TaskRecord:
        """Return a task."""
        async with self._store.read() as connection:
            return await _one(connection, task_id)

    async def history(self, task_id: str) -> list[TaskVersion]:
        """Return all versions of a task's record, oldest first."""
        query = (
            select(task_versions)
            .where(task_versions.c.task_id == task_id)
            .order_by(task_versions.c.version)
        )
        async with self._store.read() as connection:
            return [TaskVersion.of(row) for row in await connection.execute(query)]

    async def issued_access(
        self, since: int, after: tuple[int, str] | None, limit: int
    ) -> Sequence[IssuedAccess]:
        """Return entries of the ledger, which is in the same database; see `TaskRun.issued_access`."""
        async with self._store.read() as connection:
            return await entries_from(connection, since, after, limit)

    async def find(self, wanted: TaskFilter) -> list[TaskRecord]:
        """Return tasks that match a filter, newest first, without encrypted parts.

        Encrypted parts can be several megabytes per task.
        """
        async with self._store.read() as connection:
            conditions = _conditions(wanted)
            if wanted.after is not None:
                last = await _one(connection, wanted.after)
                if wanted.realms is not None and last.realm not in wanted.realms:
                    raise no_such_task(last.id)
                conditions.append(_older(last))
            query = (
                select(*_LISTED)
                .where(*conditions)
                .order_by(tasks.c.received_at.desc(), tasks.c.id.desc())
                .limit(wanted.limit)
            )
            return [TaskRecord.of(row) for row in await connection.execute(query)]

    async def ended(self, task_ids: Collection[str]) -> list[TaskRecord]:
        """Return those of the given tasks that are completed."""
        query = select(tasks).where(
            tasks.c.id.in_(task_ids), tasks.c.status.in_(("SUCCESS", "FAILURE"))
        )
        async with self._store.read() as connection:
            return [TaskRecord.of(row) for row in await connection.execute(query)]

    async def leased(self) -> tuple[int, list[TaskRecord]]:
        """Return the database's time, and all tasks that workers have, without encrypted parts.

        If the lease of a task has expired, its worker is lost, and no other one has it yet.
        """
        leased = tasks.c.status.in_(sorted(LEASED))
        query = select(*_LISTED).where(leased).order_by(tasks.c.leased_by, tasks.c.lease_acquired_at)
        async with self._store.read() as connection:
            now = (await connection.execute(select(self._now))).scalar_one()
            return now, [TaskRecord.of(row) for row in await connection.execute(query)]

    async def cancel(self, task_id: str) -> TaskRecord:
        """Complete a task that no worker has; otherwise, request its worker to stop it."""
        async with self._store.append() as connection:
            task = await _one(connection, task_id, lock=True)
            if task.ended:
                message = f"the task has ended already: {task.status}"
                raise TaskConflict(message, code="TASK_ENDED", task_id=task.id)
            if not task.leased:
                return await end_cancelled(connection, task, self._now)
            since = func.coalesce(tasks.c.cancel_requested_at, self._now)
            this = update(tasks).where(tasks.c.id == task.id)
            changed = this.values(cancel_requested_at=since).returning(tasks)
            return TaskRecord.of((await connection.execute(changed)).one())

    async def retry(self, task_id: str) -> TaskRecord:
        """Retry a failed task, starting with attempt 1. Finished stages stay finished."""
        async with self._store.append() as connection:
            task = await _one(connection, task_id, lock=True)
            subject = subject_of(task.realm, task.payload)
            if task.status != "FAILURE":
                message = f"only failed tasks can be retried; this one is {task.status}"
                raise TaskConflict(message, code="TASK_NOT_FAILED", task_id=task.id)
            try:
                async with connection.begin_nested():
                    return await move(
                        connection,
                        task,
                        "SUBMITTED",
                        self._now,
                        due_at=After(),
                        attempt_count=0,
                        subject=subject,
                        start_by=None,
                        cancel_requested_at=None,
                        callback_due_at=None,
                        error_code=None,
                        result_summary=None,
                        result_extended=None,
                    )
            except IntegrityError:
                raise _busy(await _unfinished(connection, subject)) from None

    async def _repeated(
        self, connection: AsyncConnection, payload: TaskPayload, values: dict[str, object]
    ) -> TaskRecord | None:
        """Return the task that a request repeats."""
        known = await self._same_correlation(connection, values)
        if known is not None:
            if known.digest != payload.digest:
                raise TaskConflict(
                    "the correlation id was already used for another request",
                    code="CORRELATION_ID_REUSED",
                    task_id=known.id,
                )
        else:
            known = await _unfinished(connection, values["subject"])
            if known is None:
                return None
            if values["correlation_id"] is not None or known.digest != payload.digest:
                raise _busy(known)
        renews = payload.has_credentials or (known.sealed is None and values["sealed"] is not None)
        if renews and not known.ended:
            await connection.execute(
                update(tasks)
                # Updates any version, because a worker might change it meanwhile. Completed tasks are
                # never due.
                .where(tasks.c.id == known.id, tasks.c.due_at.is_not(None))
                .values(sealed=values["sealed"])
            )
        return known

    async def _same_correlation(
        self, connection: AsyncConnection, values: dict[str, object]
    ) -> TaskRecord | None:
        if values["correlation_id"] is None:
            return None
        query = select(tasks).where(
            tasks.c.realm == values["realm"], tasks.c.correlation_id == values["correlation_id"]
        )
        row = (await connection.execute(query)).one_or_none()
        return None if row is None else TaskRecord.of(row)


def _busy(other: TaskRecord | None) -> TaskConflict:
    named = "" if other is None else f" ({other.operation} {other.id}: {other.status})"
    return TaskConflict(
        f"another task for this table is not finished yet{named}; wait for it, or cancel it",
        code="TABLE_BUSY",
        task_id=None if other is None else other.id,
    )


async def _unfinished(connection: AsyncConnection, subject: object) -> TaskRecord | None:
    """Return the unfinished task for a table."""
    row = (await connection.execute(select(tasks).where(tasks.c.subject == subject))).one_or_none()
    return None if row is None else TaskRecord.of(row)


def no_such_task(task_id: str) -> NotFound:
    """Return the error for a task that doesn't exist, or that the caller can't see."""
    return NotFound(f"there is no task '{task_id}'")


async def _one(connection: AsyncConnection, task_id: str, *, lock: bool = False) -> TaskRecord:
    if "\0" in task_id:  # PostgreSQL rejects null characters in queries
        raise NotFound("there is no such task")
    query = select(tasks).where(tasks.c.id == task_id)
    row = (await connection.execute(query.with_for_update() if lock else query)).one_or_none()
    if row is None:
        raise no_such_task(task_id)
    return TaskRecord.of(row)


def _conditions(wanted: TaskFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.realms is not None:
        conditions.append(tasks.c.realm.in_(wanted.realms))
    for column, value in (
        (tasks.c.status, wanted.status),
        (tasks.c.operation, wanted.operation),
        (tasks.c.correlation_id, wanted.correlation_id),
        (tasks.c.schedule, wanted.schedule),
    ):
        if value is not None:
            conditions.append(column == value)
    return conditions


def _older(last: TaskRecord) -> ColumnElement[bool]:
    same = and_(tasks.c.received_at == last.received_at, tasks.c.id < last.id)
    return or_(tasks.c.received_at < last.received_at, same)
