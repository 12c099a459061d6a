"""Writes the versions of a task's record: every transition is a new one, and none is overwritten."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import insert, update
from sqlalchemy.ext.asyncio import AsyncConnection

from sluicegate.delegation.records import TaskRecord, TaskVersion
from sluicegate.delegation.states import ENDED, Status, may_follow
from sluicegate.errors import SluicegateError
from sluicegate.store.tables import task_versions, tasks

_FORGOTTEN: dict[str, Any] = {"sealed": None, "subject": None, "due_at": None}


class TaskMovedOn(SluicegateError):
    """The task has changed since it was read: another worker has it, or it has ended."""

    status = 409
    code = "TASK_CHANGED"


async def create(connection: AsyncConnection, values: dict[str, Any]) -> TaskRecord:
    """Store a task at its first version.

    Raises:
        IntegrityError: There is a task of the same correlation id, or for the same subject.
    """
    row = (await connection.execute(insert(tasks).values(values).returning(tasks))).one()
    return await _recorded(connection, TaskRecord.of(row))


async def move(
    connection: AsyncConnection, task: TaskRecord, status: Status, now: int, **changes: Any
) -> TaskRecord:
    """Bring a task into another state; a task that ends loses its secrets.

    Args:
        connection: A writing transaction.
        task: As it was read: if it has changed since, nothing is written.
        status: The new state.
        now: Epoch milliseconds.
        changes: Other columns.

    Raises:
        TaskMovedOn: It has changed since.
    """
    if not may_follow(task.status, status):
        raise TaskMovedOn(f"a task cannot go from {task.status} to {status}")
    ends = status in ENDED
    values = {
        "status": status,
        "version": task.version + 1,
        "status_changed_at": now,
        **changes,
        **(_FORGOTTEN | {"callback_due_at": now} if ends else {}),
    }
    statement = (
        update(tasks)
        .where(tasks.c.id == task.id, tasks.c.version == task.version)
        .values(values)
        .returning(tasks)
    )
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        raise TaskMovedOn("the task has changed meanwhile; read it again")
    return await _recorded(connection, TaskRecord.of(row))


async def _recorded(connection: AsyncConnection, task: TaskRecord) -> TaskRecord:
    version = {each.name: getattr(task, each.name) for each in fields(TaskVersion)}
    await connection.execute(insert(task_versions).values(task_id=task.id, **version))
    return task
