"""An index to count a realm's running tasks, independent of the number of waiting tasks."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the index."""
    where = sa.text("status IN ('ACQUIRING_RESOURCES', 'RUNNING')")
    op.create_index(
        "ix_tasks_leased",
        "tasks",
        ["realm", "due_at"],
        postgresql_where=where,
        sqlite_where=where,
    )
