"""The database's tables. `key` columns hold casefolded names: names are case-insensitive.

Source: Delta Sharing protocol, "Names". Times are epoch milliseconds, durations seconds, ids UUIDs.
Of a token or a client secret, only the SHA-256 is stored.
"""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

CredentialKind = Literal["bearer", "oauth"]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _parent(column: str, parent: str, *, index: bool = False, primary: bool = False) -> Column[str]:
    reference = ForeignKey(f"{parent}.id", ondelete="CASCADE")
    return Column(column, Text, reference, nullable=False, index=index, primary_key=primary)


shares = Table(
    "shares",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("display_name", Text),
    Column("comment", Text),
    Column("properties", JSON, nullable=False),
    Column("source", JSON(none_as_null=True)),
)

schemas = Table(
    "schemas",
    metadata,
    Column("id", Text, primary_key=True),
    _parent("share_id", "shares"),
    Column("key", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("comment", Text),
    Column("source", JSON(none_as_null=True)),
    UniqueConstraint("share_id", "key"),
)

shared_tables = Table(
    "shared_tables",
    metadata,
    Column("id", Text, primary_key=True),
    _parent("schema_id", "schemas"),
    Column("key", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("catalog", Text, nullable=False),
    Column("identifier", Text, nullable=False),
    Column("comment", Text),
    Column("history", Boolean, nullable=False),
    Column("change_feed", Boolean, nullable=False),
    Column("start_version", BigInteger, nullable=False),
    Column("partition_filter", Text),
    Column("access_modes", JSON, nullable=False),
    UniqueConstraint("schema_id", "key"),
)

recipients = Table(
    "recipients",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("comment", Text),
    Column("token_lifetime", BigInteger),
    Column("allow_from", JSON, nullable=False),
    Column("properties", JSON, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("last_revoked_at", BigInteger),
)
"""`last_revoked_at` stays when a recipient is enabled again, so that older vends aren't reused."""

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    _parent("recipient_id", "recipients", index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("kind", Text, nullable=False, server_default="bearer"),
)
"""Credentials of recipients, of each `CredentialKind`. For an OAuth client, `id` is the client id."""

grants = Table(
    "grants",
    metadata,
    _parent("recipient_id", "recipients", primary=True),
    _parent("share_id", "shares", primary=True, index=True),
)

revision = Table(
    "revision",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("value", BigInteger, nullable=False),
)
"""One row, which every write transaction increments, so that caches detect that they are stale."""

ledger = Table(
    "ledger",
    metadata,
    Column("id", Text, primary_key=True),
    Column("given_at", BigInteger, nullable=False, index=True),
    Column("issued_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("kind", Text, nullable=False),
    Column("cloud", Text),
    Column("binding", Text),
    Column("recipient_id", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("share", Text, nullable=False),
    Column("schema", Text, nullable=False),
    Column("table", Text, nullable=False),
    Column("table_id", Text, nullable=False),
    Column("locations", JSON, nullable=False),
    Column("files", BigInteger),
    Column("address", Text),
    Column("request_id", Text),
)
"""Issued credentials without secrets. Names are copies, because entries outlive shares and tables."""


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
