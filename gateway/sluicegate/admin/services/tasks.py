"""Tasks of the delegation service in the same database. The queue is loaded when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sluicegate.api.errors import InvalidRequest
from sluicegate.audit.trail import note_changes, note_resource
from sluicegate.config import Settings
from sluicegate.config.yaml import nearest
from sluicegate.database import Store

if TYPE_CHECKING:
    from sluicegate.delegation.queue.records import TaskRecord
    from sluicegate.delegation.queue.tasks import TaskQueue
    from sluicegate.plugins.configured import ConfiguredInstances

_OPERATOR = "operator"
TASK_FILTERS = ("status", "operation", "realm", "correlation_id", "schedule")


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """A task that a worker has."""

    task: TaskRecord
    expired: bool


class Tasks:
    """Finds, submits and changes tasks, and provides the queue."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    async def find(
        self, values: Mapping[str, str], limit: int, after: str | None = None
    ) -> list[TaskRecord]:
        """The tasks that some filters select, newest first."""
        from sluicegate.delegation.queue.records import STATUSES
        from sluicegate.delegation.queue.tasks import TaskFilter

        status = values.get("status")
        if status is not None and status not in STATUSES:
            raise InvalidRequest(f"there is no status '{status[:64]}'{nearest(status[:64], STATUSES)}")
        realm = values.get("realm")
        return await self.queue.find(
            TaskFilter(
                realms=None if realm is None else (realm,),
                status=status,
                operation=values.get("operation"),
                correlation_id=values.get("correlation_id"),
                schedule=values.get("schedule"),
                limit=limit,
                after=after,
            )
        )

    async def submit(self, content: bytes, configured: ConfiguredInstances) -> TaskRecord:
        """Submit a task, whose executor must be configured."""
        from sluicegate.delegation.grants import RealmGrants
        from sluicegate.delegation.task_payload import TaskPayload

        payload = TaskPayload.parse(content)
        payload.check_operation(configured.operations)
        RealmGrants.configured(self._settings.delegation, configured).check_payload(payload)
        found = await self.queue.submit(payload, _OPERATOR)
        note_resource(found.id)
        note_changes([f"+ task {found.id}: {payload.common_payload.operation_type}"])
        return found

    async def prune(self, older_than: int | None = None) -> int:
        """Delete tasks that completed long ago, and return their number."""
        from sluicegate.delegation.queue.retention import Retention

        age = self._settings.delegation.retention if older_than is None else older_than
        pruned = await Retention(self._store, age).prune()
        note_changes([f"- {pruned} tasks that completed {age} s ago or earlier"])
        return pruned

    async def cancel(self, task: str) -> TaskRecord:
        """Cancel a task, or request it from its worker."""
        found = await self.queue.cancel(task)
        note_changes([f"~ task {found.id}: cancelled"])
        return found

    async def retry(self, task: str) -> TaskRecord:
        """Let a failed or cancelled task wait for a worker again; see `cancel` for errors."""
        found = await self.queue.retry(task)
        note_changes([f"~ task {found.id}: to be retried"])
        return found

    async def workers(self) -> dict[str, list[WorkerTask]]:
        """The workers that have tasks, by name, with their tasks."""
        now, leased = await self.queue.leased()
        found: dict[str, list[WorkerTask]] = {}
        for task in leased:
            expired = task.due_at is not None and task.due_at <= now
            found.setdefault(task.leased_by or "", []).append(WorkerTask(task, expired))
        return found

    @cached_property
    def queue(self) -> TaskQueue:
        """The queue."""
        from sluicegate.delegation.queue.encryption import PayloadCipher
        from sluicegate.delegation.queue.tasks import TaskQueue

        return TaskQueue(self._store, PayloadCipher.of(self._settings))
