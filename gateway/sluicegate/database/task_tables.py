"""The tables of the delegation service, in the same metadata as the others.

The gateway does not import this module: for the conditions of the indexes, SQLAlchemy loads what it has
for PostgreSQL, even if the database is SQLite.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from sluicegate.database.tables import metadata


def _partial(column: str) -> dict[str, Any]:
    return _where(f"{column} IS NOT NULL")


def _where(condition: str) -> dict[str, Any]:
    return {"postgresql_where": text(condition), "sqlite_where": text(condition)}


# These indexes must not attract the lease query, which would then sort all waiting tasks.
_UNFINISHED = "status IN ('ACQUIRING_RESOURCES', 'RETRY_SCHEDULED', 'RUNNING', 'SUBMITTED')"
_LEASED = "status IN ('ACQUIRING_RESOURCES', 'RUNNING')"

tasks = Table(
    "tasks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("parent_id", Text),
    Column("operation", Text, nullable=False),
    Column("realm", Text, nullable=False),
    Column("correlation_id", Text),
    Column("submitted_by", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("subject", Text, unique=True),
    Column("priority", Integer, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("sealed", LargeBinary),
    Column("status", Text, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("status_changed_at", BigInteger, nullable=False),
    Column("attempt_count", Integer, nullable=False),
    Column("lease_acquired_at", BigInteger),
    Column("leased_by", Text),
    Column("due_at", BigInteger),
    Column("cancel_requested_at", BigInteger),
    Column("stages", JSON, nullable=False),
    Column("progress", JSON(none_as_null=True)),
    Column("result", JSON(none_as_null=True)),
    Column("error_code", Text),
    Column("result_summary", Text),
    Column("result_extended", Text),
    Column("callback_due_at", BigInteger),
    Column("trace_context", Text),
    Column("schedule", Text),
    Column("firing_id", Text),
    Column("start_by", BigInteger),
    UniqueConstraint("realm", "correlation_id"),
    Index("ix_tasks_priority", "priority", "due_at", **_partial("due_at")),
    Index("ix_tasks_realm", "realm", "priority", "due_at", **_where(_UNFINISHED)),
    Index("ix_tasks_leased", "realm", "due_at", **_where(_LEASED)),
    Index("ix_tasks_callback_due_at", "callback_due_at", **_partial("callback_due_at")),
    Index("ix_tasks_received_at", "received_at"),
    Index("ix_tasks_schedule", "schedule", "status", **_partial("schedule")),
    Index("ix_tasks_firing", "firing_id", "status", **_partial("firing_id")),
    Index("ix_tasks_start_by", "start_by", **_partial("start_by")),
)
"""Tasks of the delegation service, each at its newest version.

A worker may lease a task from `due_at` on. This is the time of receipt, of the scheduled retry, or of
the expiry of the lease; finished tasks have none. `subject` names the operation and table of an
unfinished task, and is unique. `sealed` is the encrypted payload, which is deleted when the task ends.
`trace_context` is the `traceparent` of the request that submitted it, if that was traced. `schedule`
and `firing_id` are those that submitted it; an unfinished task of a schedule with a window has the end
of the window in `start_by`.
"""

task_versions = Table(
    "task_versions",
    metadata,
    Column("task_id", Text, ForeignKey("tasks.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("status", Text, nullable=False),
    Column("attempt_count", Integer, nullable=False),
    Column("status_changed_at", BigInteger, nullable=False),
    Column("leased_by", Text),
    Column("due_at", BigInteger),
    Column("error_code", Text),
    Column("result_summary", Text),
)
"""One row for each transition of a task (Polaris delegation proposal, "Persistence")."""

schedules = Table(
    "schedules",
    metadata,
    Column("name", Text, primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("paused_at", BigInteger),
    Column("paused_by", Text),
)
"""States of configured schedules. A schedule fires only for times after `since`: when a service first
had it in its configuration, or when it was last resumed.
"""

schedule_firings = Table(
    "schedule_firings",
    metadata,
    Column("id", Text, primary_key=True),
    Column("schedule", Text, nullable=False),
    Column("fires_at", BigInteger, nullable=False),
    Column("parent_id", Text),
    Column("requested_by", Text),
    Column("opened_at", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("claimed_until", BigInteger),
    Column("last_schema", Text),
    Column("last_table", Text),
    Column("capped", Integer, nullable=False),
    Column("submitted", Integer, nullable=False),
    Column("busy", Integer, nullable=False),
    Column("message", Text),
    UniqueConstraint("schedule", "fires_at"),
    Index("ix_schedule_firings_status", "status", "opened_at"),
)
"""One row for each time at which a schedule fired. The unique key makes it fire once (docs/adr/0074).

`last_schema` and `last_table` are the last table whose task was submitted: another service continues
after it. `version` is the fencing token of the service that submits tasks, whose claim ends at
`claimed_until`. `requested_by` is who ran it by hand, which is not at a time of its cron expression.
`parent_id` is the firing after which it happens, if the schedule has `after`.
"""
