"""Administrators with tokens, and activation links of recipients."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "activation_links",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column(
            "recipient_id",
            sa.Text,
            sa.ForeignKey("recipients.id", ondelete="CASCADE"),
            nullable=False,
            index=True,
        ),
        sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("token_lifetime", sa.BigInteger),
        sa.Column("grace", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.BigInteger),
        sa.Column("withdrawn_at", sa.BigInteger),
    )
    op.create_table(
        "admins",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("shares", sa.JSON(none_as_null=True)),
        sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
