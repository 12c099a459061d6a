"""The trace of the request that submitted a task."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Existing tasks have no trace."""
    op.add_column("tasks", sa.Column("trace_context", sa.Text))
