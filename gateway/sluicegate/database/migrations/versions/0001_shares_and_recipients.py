"""Shares, their schemas and tables; recipients, their tokens and grants."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the first tables."""
    _create_shares()
    _create_recipients()
    counter = op.create_table(
        "revision",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(counter, [{"id": 1, "value": 0}])


def _create_shares() -> None:
    op.create_table(
        "shares",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("display_name", sa.Text),
        sa.Column("comment", sa.Text),
        sa.Column("properties", sa.JSON, nullable=False),
    )
    op.create_table(
        "schemas",
        sa.Column("id", sa.Text, primary_key=True),
        _parent("share_id", "shares"),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("comment", sa.Text),
        sa.Column("source", sa.JSON),
        sa.UniqueConstraint("share_id", "key"),
    )
    op.create_table(
        "shared_tables",
        sa.Column("id", sa.Text, primary_key=True),
        _parent("schema_id", "schemas"),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("catalog", sa.Text, nullable=False),
        sa.Column("identifier", sa.Text, nullable=False),
        sa.Column("comment", sa.Text),
        sa.Column("history", sa.Boolean, nullable=False),
        sa.Column("change_feed", sa.Boolean, nullable=False),
        sa.Column("start_version", sa.BigInteger, nullable=False),
        sa.Column("partition_filter", sa.Text),
        sa.Column("access_modes", sa.JSON, nullable=False),
        sa.UniqueConstraint("schema_id", "key"),
    )


def _create_recipients() -> None:
    op.create_table(
        "recipients",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("comment", sa.Text),
        sa.Column("token_lifetime", sa.BigInteger),
        sa.Column("allow_from", sa.JSON, nullable=False),
        sa.Column("properties", sa.JSON, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text, primary_key=True),
        _parent("recipient_id", "recipients", index=True),
        sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
    )
    op.create_table(
        "grants",
        _parent("recipient_id", "recipients", primary=True),
        _parent("share_id", "shares", primary=True, index=True),
    )


def _parent(column: str, parent: str, *, index: bool = False, primary: bool = False) -> sa.Column[str]:
    reference = sa.ForeignKey(f"{parent}.id", ondelete="CASCADE")
    return sa.Column(column, sa.Text, reference, nullable=False, index=index, primary_key=primary)
