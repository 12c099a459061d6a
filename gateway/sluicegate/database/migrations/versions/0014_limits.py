"""Limits of recipients, and what recipients and addresses were offered each day."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and the table. Existing recipients have no limits."""
    op.add_column("recipients", sa.Column("limits", sa.JSON(none_as_null=True)))
    op.create_table(
        "daily_usage",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("subject", sa.Text, primary_key=True),
        sa.Column("files", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("written_at", sa.BigInteger, nullable=False),
    )
