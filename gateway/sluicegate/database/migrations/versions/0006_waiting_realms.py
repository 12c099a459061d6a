"""An index to find realms with waiting tasks, independent of the number of tasks of each realm."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the index."""
    unfinished = "'ACQUIRING_RESOURCES', 'RETRY_SCHEDULED', 'RUNNING', 'SUBMITTED'"
    where = sa.text(f"status IN ({unfinished})")
    op.create_index(
        "ix_tasks_realm",
        "tasks",
        ["realm", "priority", "due_at"],
        postgresql_where=where,
        sqlite_where=where,
    )
