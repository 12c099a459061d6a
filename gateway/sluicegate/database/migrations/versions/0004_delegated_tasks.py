"""Tasks of the delegation service, and every version of their records."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "tasks",
        sa.Column("id", sa.Text, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in _NAMES),
        *(sa.Column(name, sa.Text) for name in _TEXTS),
        *(sa.Column(name, sa.Integer, nullable=False) for name in _NUMBERS),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in _TIMES),
        *(sa.Column(name, sa.BigInteger) for name in _OPTIONAL_TIMES),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("sealed", sa.LargeBinary),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("stages", sa.JSON, nullable=False),
        sa.Column("progress", sa.JSON),
        sa.Column("result", sa.JSON),
        sa.Column("subject", sa.Text, unique=True),
        sa.UniqueConstraint("realm", "correlation_id"),
    )
    for name, columns in _OF_UNFINISHED:
        where = sa.text(f"{columns[-1]} IS NOT NULL")
        op.create_index(name, "tasks", columns, postgresql_where=where, sqlite_where=where)
    op.create_index("ix_tasks_received_at", "tasks", ["received_at"])
    op.create_table(
        "task_versions",
        sa.Column("task_id", sa.Text, sa.ForeignKey("tasks.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("attempt_count", sa.Integer, nullable=False),
        sa.Column("status_changed_at", sa.BigInteger, nullable=False),
        sa.Column("leased_by", sa.Text),
        sa.Column("due_at", sa.BigInteger),
        sa.Column("error_code", sa.Text),
        sa.Column("result_summary", sa.Text),
    )


_NAMES = ("operation", "realm", "submitted_by", "status")
_TEXTS = ("parent_id", "correlation_id", "leased_by", "error_code", "result_summary", "result_extended")
_NUMBERS = ("version", "priority", "attempt_count")
_TIMES = ("received_at", "created_at", "status_changed_at")
_OPTIONAL_TIMES = ("lease_acquired_at", "due_at", "cancel_requested_at", "callback_due_at")
_OF_UNFINISHED = (
    ("ix_tasks_priority", ["priority", "due_at"]),
    ("ix_tasks_callback_due_at", ["callback_due_at"]),
)
