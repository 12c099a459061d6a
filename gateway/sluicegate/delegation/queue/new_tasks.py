"""The first versions of tasks, and tasks of schedules, which are stored in larger transactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.task_tables import tasks
from sluicegate.delegation.queue.encryption import PayloadCipher
from sluicegate.delegation.queue.statements import After, Now
from sluicegate.delegation.queue.transitions import create
from sluicegate.delegation.task_payload import TaskPayload, subject_of
from sluicegate.telemetry import current_traceparent


@dataclass(frozen=True, slots=True)
class Origin:
    """The firing that submits tasks.

    Attributes:
        due_at: When a worker can take them, in epoch milliseconds; `None` for now.
        start_by: When they fail if no worker has started them; `None` for never.
    """

    schedule: str
    firing_id: str
    due_at: int | None = None
    start_by: int | None = None


def new_task(payload: TaskPayload, client: str, cipher: PayloadCipher) -> dict[str, Any]:
    """Return the columns of a task that is submitted now."""
    common, hidden = payload.common_payload, payload.hidden
    return {
        "id": str(uuid4()),
        "version": 1,
        "operation": common.operation,
        "realm": common.realm_identifier,
        "correlation_id": common.polaris_correlation_id,
        "submitted_by": client,
        "digest": payload.digest,
        "subject": subject_of(common.realm_identifier, payload.shown),
        "priority": common.priority,
        "payload": payload.shown,
        "sealed": cipher.encrypt(hidden) if hidden else None,
        "status": "SUBMITTED",
        "received_at": After(),
        "created_at": After(),
        "status_changed_at": After(),
        "attempt_count": 0,
        "due_at": After(),
        "stages": [],
        "trace_context": current_traceparent(),
    }


async def create_free(
    connection: AsyncConnection,
    payloads: Sequence[TaskPayload],
    client: str,
    cipher: PayloadCipher,
    origin: Origin,
    now: Now,
) -> int:
    """Store a task for each table that has no unfinished one, and return their number."""
    further = {
        "schedule": origin.schedule,
        "firing_id": origin.firing_id,
        "due_at": After() if origin.due_at is None else origin.due_at,
        "start_by": origin.start_by,
    }
    wanted = [new_task(each, client, cipher) | further for each in payloads]
    subjects = [each["subject"] for each in wanted]
    query = select(tasks.c.subject).where(tasks.c.subject.in_(subjects))
    busy = set((await connection.execute(query)).scalars())
    created = 0
    for values in wanted:
        if values["subject"] in busy:
            continue
        try:
            async with connection.begin_nested():
                await create(connection, values, now)
        except IntegrityError:  # a client has submitted one meanwhile
            continue
        created += 1
    return created
