"""Manages leases: which worker runs which task, until when.

Source: Polaris delegation proposal, "Retry Logic".
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any, Literal

from sqlalchemy import select, update

from sluicegate.api.delegation.tasks import TaskProgress, TaskResult
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.statements.clock import NOW
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.queue.failures import TASK_CANCELLED, WORKER_LOST, AttemptFailure
from sluicegate.delegation.queue.records import LEASED, TaskRecord
from sluicegate.delegation.queue.retry_policy import RetryPolicies
from sluicegate.delegation.queue.running_limits import Candidates, RunningLimits
from sluicegate.delegation.queue.statements import After, Now, candidate
from sluicegate.delegation.queue.transitions import move
from sluicegate.telemetry import inner_span

log = logging.getLogger(__name__)

Beat = Literal["held", "cancelled", "lost"]


class Leases:
    """Leases tasks to workers, and records the outcomes.

    A task's version is its fencing token: after a lease is lost and taken by another worker, the
    first one can neither prolong it nor record an outcome. All times are the database's; clocks of
    workers are not used.
    """

    def __init__(
        self,
        store: Store,
        settings: DelegationSettings,
        *,
        policies: RetryPolicies | None = None,
        now: Now = NOW,
    ) -> None:
        self._store = store
        self._settings = settings
        self._policies = policies or RetryPolicies(settings)
        self._now = now
        self._limits = RunningLimits(settings, now)

    async def acquire(self, worker: str, operations: Collection[str]) -> TaskRecord | None:
        """Lease the most urgent due task of these operations: a new one, a retry or a lost one.

        If a task was canceled, or its last attempt was lost, it is completed instead of leased.
        """
        with inner_span("task.lease"):
            return await self._acquire(worker, operations)

    async def _acquire(self, worker: str, operations: Collection[str]) -> TaskRecord | None:
        candidates = Candidates(list(operations))
        found = await self._most_urgent(worker, candidates)
        if found != "full":
            return found
        async with self._store.read() as connection:
            realms = await self._limits.realms_with_room(connection, candidates.operations)
        for realm in realms:
            found = await self._most_urgent(worker, candidates, realm)
            if isinstance(found, TaskRecord):
                return found
        return None

    async def start(self, task: TaskRecord) -> TaskRecord:
        """Mark a task as RUNNING, because its resources are available."""
        async with self._store.append() as connection:
            return await move(connection, task, "RUNNING", self._now, due_at=self._lost())

    async def beat(self, task: TaskRecord, progress: TaskProgress | None = None) -> Beat:
        """Prolong a lease, and return whether it is held, lost, or the task is to be canceled."""
        values = {"due_at": self._now + self._lost().milliseconds}
        row = await self._update(task, values | _reported(progress))
        if row is None:
            return "lost"
        return "held" if row["cancel_requested_at"] is None else "cancelled"

    async def finish_stage(
        self, task: TaskRecord, stages: Collection[str], progress: TaskProgress | None = None
    ) -> bool:
        """Store finished stages and progress. Returns `False` if the lease is lost."""
        values = {"stages": list(stages), "due_at": self._now + self._lost().milliseconds}
        return await self._update(task, values | _reported(progress)) is not None

    async def succeed(
        self, task: TaskRecord, result: TaskResult, progress: TaskProgress | None = None
    ) -> TaskRecord:
        """Record that a task succeeded."""
        figures = {"files_deleted": result.files_deleted, "bytes_deleted": result.bytes_deleted}
        known = {name: value for name, value in figures.items() if value is not None}
        async with self._store.append() as connection:
            return await move(
                connection,
                task,
                "SUCCESS",
                self._now,
                result={**result.further, **known},
                result_summary=result.summary,
                result_extended=None,
                error_code=None,
                **_reported(progress),
            )

    async def fail(
        self, task: TaskRecord, failure: AttemptFailure, progress: TaskProgress | None = None
    ) -> TaskRecord:
        """Record a failed attempt: schedule its retry, or make the failure final.

        If the task was canceled meanwhile, it also ends.
        """
        now = self._now
        told = {
            "error_code": failure.error_code,
            "result_summary": failure.message,
            "result_extended": failure.detail,
            **_reported(progress),
        }
        async with self._store.append() as connection:
            if not failure.retryable or self._policies.exhausted(task.operation, task.attempt_count):
                return await move(connection, task, "FAILURE", now, **told)
            due_at = After(self._policies.backoff_ms(task.operation, task.attempt_count))
            failed = await move(connection, task, "RETRY_SCHEDULED", now, due_at=due_at, **told)
            if failed.cancel_requested_at is None:
                return failed
            return await end_cancelled(connection, failed, now)

    async def cancel(self, task: TaskRecord, progress: TaskProgress | None = None) -> TaskRecord:
        """Record that a leased task was stopped on request."""
        async with self._store.append() as connection:
            return await end_cancelled(connection, task, self._now, **_reported(progress))

    async def release(self, task: TaskRecord, progress: TaskProgress | None = None) -> TaskRecord:
        """Release a task because this worker stops. Another worker can continue at once.

        The attempt is not counted.
        """
        async with self._store.append() as connection:
            return await self._give_back(connection, task, "the worker was stopped", progress)

    async def release_others(self, worker: str, task_ids: Collection[str]) -> None:
        """Release tasks that a worker leased without knowing, because the response was lost."""
        query = select(tasks).where(
            tasks.c.due_at.is_not(None),
            tasks.c.leased_by == worker,
            tasks.c.status.in_(LEASED),
            tasks.c.id.not_in(task_ids),
        )
        async with self._store.append() as connection:
            for row in (await connection.execute(query.with_for_update())).all():
                task = await self._give_back(connection, TaskRecord.of(row), "its lease was not used")
                log.warning("task %s: leased, but the response was lost; released", task.id)

    async def _give_back(
        self,
        connection: AsyncConnection,
        task: TaskRecord,
        why: str,
        progress: TaskProgress | None = None,
    ) -> TaskRecord:
        return await move(
            connection,
            task,
            "RETRY_SCHEDULED",
            self._now,
            due_at=After(),
            attempt_count=task.attempt_count - 1,
            result_summary=why,
            **_reported(progress),
        )

    async def _most_urgent(
        self, worker: str, candidates: Candidates, realm: str | None = None
    ) -> TaskRecord | Literal["full"] | None:
        """Lease the most urgent task, of one realm if given. `full` is a realm that is at its limit."""
        while candidates.operations:
            given = candidates.parameters | ({} if realm is None else {"realm": realm})
            # One transaction per candidate: a transaction that locks two realms could wait for
            # another's.
            async with self._store.append() as connection:
                query = candidate(
                    self._now,
                    connection.dialect.name,
                    of_realm=realm is not None,
                    without_schedules=bool(candidates.without_schedules),
                )
                row = (await connection.execute(query, given)).one_or_none()
                if row is None:
                    return None
                task = TaskRecord.of(row)
                if await self._end_hopeless(connection, task):
                    continue
                if await self._limits.realm_is_full(connection, task):
                    return "full"
                full = await self._limits.full(connection, task)
                if full is None:
                    return await self._lease(connection, task, worker)
            candidates.leave_out(*full)
        return None

    async def _lease(self, connection: AsyncConnection, task: TaskRecord, worker: str) -> TaskRecord:
        if task.leased:
            log.warning("taking task %s over from %s, which is lost", task.id, task.leased_by)
        return await move(
            connection,
            task,
            "ACQUIRING_RESOURCES",
            self._now,
            due_at=self._lost(),
            leased_by=worker,
            lease_acquired_at=After(),
            attempt_count=task.attempt_count + 1,
        )

    async def _end_hopeless(self, connection: AsyncConnection, task: TaskRecord) -> bool:
        if task.cancel_requested_at is not None:
            await end_cancelled(connection, task, self._now)
            return True
        if not task.leased or not self._policies.exhausted(task.operation, task.attempt_count):
            return False
        told = f"the worker was lost during attempt {task.attempt_count}, the last one"
        await move(connection, task, "FAILURE", self._now, error_code=WORKER_LOST, result_summary=told)
        return True

    async def _update(self, task: TaskRecord, values: dict[str, Any]) -> Mapping[str, Any] | None:
        """Change a leased task at its version.

        Returns the stored record, or `None` if the lease was lost.
        """
        statement = (
            update(tasks)
            .where(tasks.c.id == task.id, tasks.c.version == task.version)
            .values(values)
            .returning(tasks.c.cancel_requested_at)
        )
        async with self._store.append() as connection:
            row = (await connection.execute(statement)).one_or_none()
        return None if row is None else row._mapping

    def _lost(self) -> After:
        """Return the time at which a lease that is prolonged now counts as lost."""
        return After(self._settings.lease.ttl * 1000)


async def end_cancelled(
    connection: AsyncConnection, task: TaskRecord, now: Now, **changes: Any
) -> TaskRecord:
    """Complete a task that was canceled."""
    return await move(
        connection,
        task,
        "FAILURE",
        now,
        error_code=TASK_CANCELLED,
        result_summary="the task was cancelled",
        **changes,
    )


def _reported(progress: TaskProgress | None) -> dict[str, Any]:
    """Return the progress to store. Without a new report, that of earlier attempts is kept."""
    return {} if progress is None else {"progress": asdict(progress)}
