"""The branch or tag at which a table is shared."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Existing tables are shared at their main branches."""
    op.add_column("shared_tables", sa.Column("ref", sa.Text))
