"""Sessions of administrators in the console."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "console_sessions",
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        sa.Column("admin_id", sa.Text, sa.ForeignKey("admins.id", ondelete="CASCADE"), index=True),
        sa.Column("identity", sa.JSON(none_as_null=True)),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
        sa.Column("used_at", sa.BigInteger, nullable=False),
    )
