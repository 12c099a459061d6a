"""OAuth clients in addition to bearer tokens, and revoked recipients."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns. Existing rows become bearer tokens of recipients that aren't revoked."""
    op.add_column("tokens", sa.Column("kind", sa.Text, nullable=False, server_default="bearer"))
    op.add_column("recipients", sa.Column("revoked_at", sa.BigInteger))
