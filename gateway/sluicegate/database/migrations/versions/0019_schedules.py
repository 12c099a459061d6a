"""Schedules of the delegation service."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the schedules and their firings, and what tasks know of them."""
    op.create_table(
        "schedules",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("paused_at", sa.BigInteger),
        sa.Column("paused_by", sa.Text),
    )
    op.create_table(
        "schedule_firings",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("schedule", sa.Text, nullable=False),
        sa.Column("fires_at", sa.BigInteger, nullable=False),
        sa.Column("parent_id", sa.Text),
        sa.Column("requested_by", sa.Text),
        sa.Column("opened_at", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("claimed_until", sa.BigInteger),
        sa.Column("last_schema", sa.Text),
        sa.Column("last_table", sa.Text),
        sa.Column("capped", sa.Integer, nullable=False),
        sa.Column("submitted", sa.Integer, nullable=False),
        sa.Column("busy", sa.Integer, nullable=False),
        sa.Column("message", sa.Text),
        sa.UniqueConstraint("schedule", "fires_at"),
    )
    op.create_index("ix_schedule_firings_status", "schedule_firings", ["status", "opened_at"])
    op.add_column("tasks", sa.Column("schedule", sa.Text))
    op.add_column("tasks", sa.Column("firing_id", sa.Text))
    op.add_column("tasks", sa.Column("start_by", sa.BigInteger))
    for name, columns in (
        ("ix_tasks_schedule", ["schedule", "status"]),
        ("ix_tasks_firing", ["firing_id", "status"]),
        ("ix_tasks_start_by", ["start_by"]),
    ):
        given = sa.text(f"{columns[0]} IS NOT NULL")
        op.create_index(name, "tasks", columns, postgresql_where=given, sqlite_where=given)
