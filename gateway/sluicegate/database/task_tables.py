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
    UniqueConstraint("realm", "correlation_id"),
    Index("ix_tasks_priority", "priority", "due_at", **_partial("due_at")),
    Index("ix_tasks_realm", "realm", "priority", "due_at", **_where(_UNFINISHED)),
    Index("ix_tasks_leased", "realm", "due_at", **_where(_LEASED)),
    Index("ix_tasks_callback_due_at", "callback_due_at", **_partial("callback_due_at")),
    Index("ix_tasks_received_at", "received_at"),
)
"""Tasks of the delegation service, each at its newest version.

A worker may lease a task from `due_at` on. This is the time of receipt, of the scheduled retry, or of
the expiry of the lease; finished tasks have none. `subject` names the operation and table of an
unfinished task, and is unique. `sealed` is the encrypted payload, which is deleted when the task ends.
`trace_context` is the `traceparent` of the request that submitted it, if that was traced.
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
