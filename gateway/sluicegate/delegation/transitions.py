"""Writes the versions of a task's record: every transition is a new one, and none is overwritten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.selectable import TypedReturnsRows

from sluicegate.delegation.records import TaskRecord
from sluicegate.delegation.statements import VERSION, After, Now, change, creation, given
from sluicegate.delegation.states import ENDED, Status, may_follow
from sluicegate.errors import SluicegateError
from sluicegate.store.tables import task_versions

_FORGOTTEN: dict[str, Any] = {"sealed": None, "subject": None, "due_at": None}


class TaskMovedOn(SluicegateError):
    """The task has changed since it was read: another worker has it, or it has ended."""

    status = 409
    code = "TASK_CHANGED"


async def create(connection: AsyncConnection, values: dict[str, Any], now: Now) -> TaskRecord:
    """Store a task at its first version; its times may be `After`.

    Raises:
        IntegrityError: There is a task of the same correlation id, or for the same subject.
    """
    statement = creation(values, now, connection.dialect.name)
    [created] = await _recorded(connection, statement, given(values))
    return created


async def move(
    connection: AsyncConnection, task: TaskRecord, status: Status, now: Now, **changes: Any
) -> TaskRecord:
    """Bring a task into another state; a task that ends loses its secrets.

    Args:
        connection: A writing transaction.
        task: As it was read: if it has changed since, nothing is written.
        status: The new state.
        now: The clock.
        changes: Other columns; times may be `After`.

    Raises:
        TaskMovedOn: It has changed since.
    """
    if not may_follow(task.status, status):
        raise TaskMovedOn(f"a task cannot go from {task.status} to {status}")
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
        raise TaskMovedOn("the task has changed meanwhile; read it again")
    return moved[0]


async def _recorded(
    connection: AsyncConnection, statement: TypedReturnsRows[Any], parameters: Mapping[str, Any]
) -> list[TaskRecord]:
    """Change a task, if it is still there to be changed, and add the version that it has now."""
    found = [TaskRecord.of(row) for row in await connection.execute(statement, parameters)]
    if connection.dialect.name == "postgresql":
        return found  # the statement has added it
    for task in found:
        values = {name: getattr(task, name) for name in VERSION}
        await connection.execute(insert(task_versions), {"task_id": task.id, **values})
    return found
