"""The field ids of tables for Iceberg clients."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "iceberg_field_ids",
        sa.Column("table_key", sa.Text, primary_key=True),
        sa.Column("field_id", sa.Integer, primary_key=True),
        sa.Column("parent_id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("gone_at", sa.BigInteger),
    )
