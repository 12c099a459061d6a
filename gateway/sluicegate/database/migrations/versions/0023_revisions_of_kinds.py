"""Revisions of the kinds of rows that cached reads depend on."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the number of transactions that name what they change, and of those for each kind."""
    for name in ("attributed", "recipients", "credentials", "grants", "shares", "tables"):
        op.add_column(
            "revision", sa.Column(name, sa.BigInteger, nullable=False, server_default=sa.text("0"))
        )
