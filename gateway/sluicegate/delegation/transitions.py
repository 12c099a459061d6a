"""Writes the versions of a task's record: every transition is a new one, and none is overwritten."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import Insert, Update, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from sluicegate.delegation.records import TaskRecord, TaskVersion
from sluicegate.delegation.states import ENDED, Status, may_follow
from sluicegate.errors import SluicegateError
from sluicegate.store.tables import task_versions, tasks

_VERSION = tuple(each.name for each in fields(TaskVersion))
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
    [created] = await _recorded(connection, insert(tasks).values(values))
    return created


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
    same = update(tasks).where(tasks.c.id == task.id, tasks.c.version == task.version)
    moved = await _recorded(connection, same.values(values))
    if not moved:
        raise TaskMovedOn("the task has changed meanwhile; read it again")
    return moved[0]


async def _recorded(connection: AsyncConnection, change: Insert | Update) -> list[TaskRecord]:
    """Change a task, if it is still there to be changed, and add the version that it has now."""
    if connection.dialect.name == "postgresql":
        # One statement: others wait for a lease that is being taken no longer than they must.
        changed = change.returning(tasks).cte("changed")
        version = select(changed.c.id, *(changed.c[name] for name in _VERSION))
        added = insert(task_versions).from_select(["task_id", *_VERSION], version).cte("added")
        return [TaskRecord.of(row) for row in await connection.execute(select(changed).add_cte(added))]
    found = [TaskRecord.of(row) for row in await connection.execute(change.returning(tasks))]
    for task in found:
        values = {name: getattr(task, name) for name in _VERSION}
        await connection.execute(insert(task_versions).values(task_id=task.id, **values))
    return found
