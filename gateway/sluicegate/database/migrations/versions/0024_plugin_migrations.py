"""The migrations of plugins' tables that a database has."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "plugin_migrations",
        sa.Column("plugin", sa.Text, primary_key=True),
        sa.Column("migration", sa.Text, primary_key=True),
        sa.Column("migrated_at", sa.BigInteger, nullable=False),
    )
