"""OAuth clients beside bearer tokens, and recipients that are refused as a whole."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; what is there already is a bearer token of a recipient that is let in."""
    op.add_column("tokens", sa.Column("kind", sa.Text, nullable=False, server_default="bearer"))
    op.add_column("recipients", sa.Column("revoked_at", sa.BigInteger))
