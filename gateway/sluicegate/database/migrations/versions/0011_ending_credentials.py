"""When a warning was given that a credential ends soon."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("tokens", sa.Column("warned_at", sa.BigInteger))
