"""Writes versions of a task's record. Every transition adds one, and none is overwritten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert
from sqlalchemy.sql.selectable import TypedReturnsRows

from sluicegate.api.errors import SluicegateError
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.task_tables import task_versions
from sluicegate.delegation.queue.records import ENDED, Status, TaskRecord, may_follow
from sluicegate.delegation.queue.statements import VERSION, After, Now, change, creation, given

_FORGOTTEN: dict[str, Any] = {"sealed": None, "subject": None, "due_at": None, "start_by": None}


class TaskVersionConflict(SluicegateError):
    """The task has changed since it was read: another worker has it, or it is completed."""

    status = 409
    code = "TASK_CHANGED"


async def create(connection: AsyncConnection, values: dict[str, Any], now: Now) -> TaskRecord:
    """Store a task at its first version. Times can be `After`."""
    statement = creation(values, now, connection.dialect.name)
    [created] = await _recorded(connection, statement, given(values))
    return created


async def move(
    connection: AsyncConnection, task: TaskRecord, status: Status, now: Now, **changes: Any
) -> TaskRecord:
    """Change the state of a task. In a final state, its secrets are deleted."""
    if not may_follow(task.status, status):
        raise TaskVersionConflict(f"a task cannot go from {task.status} to {status}")
    ends = status in ENDED
    values = {
        "status": status,
        "version": task.version + 1,
        "status_changed_at": After(),
        **changes,
        **(_FORGOTTEN | {"callback_due_at": After()} if ends else {}),
    }
    statement = change(values, now, connection.dialect.name)
    this = {"this_id": task.id, "this_version": task.version}
    moved = await _recorded(connection, statement, this | given(values))
    if not moved:
        raise TaskVersionConflict("the task has changed meanwhile; read it again")
    return moved[0]


async def _recorded(
    connection: AsyncConnection, statement: TypedReturnsRows[Any], parameters: Mapping[str, Any]
) -> list[TaskRecord]:
    """Change a task if its version still matches, and add its new version."""
    found = [TaskRecord.of(row) for row in await connection.execute(statement, parameters)]
    if connection.dialect.name == "postgresql":
        return found  # the statement added the version
    for task in found:
        values = {name: getattr(task, name) for name in VERSION}
        await connection.execute(insert(task_versions), {"task_id": task.id, **values})
    return found
