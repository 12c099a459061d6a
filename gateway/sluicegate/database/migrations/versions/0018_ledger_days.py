"""Sums of the ledger by day."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table. Gateways fill it in the background; until then, usage is read from the ledger."""
    names = ("recipient", "share", "schema", "table", "asset")
    op.create_table(
        "ledger_days",
        sa.Column("grouping", sa.Text, primary_key=True),
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.Text, primary_key=True) for name in names),
        sa.Column("responses", sa.BigInteger, nullable=False),
        sa.Column("credentials", sa.BigInteger, nullable=False),
        sa.Column("files", sa.BigInteger, nullable=False),
    )
