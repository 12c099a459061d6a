"""The audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables. The head of the empty log has no seal, because that needs a key."""
    op.create_table(
        "audit_blocks",
        sa.Column("first_seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("first_at", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.Column("mac", sa.LargeBinary, nullable=False),
        sa.Column("records", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_audit_blocks_last_at", "audit_blocks", ["last_at"])
    head = op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("mac", sa.LargeBinary, nullable=False),
        sa.Column("checkpoint_seq", sa.BigInteger, nullable=False),
        sa.Column("checkpoint_mac", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
    )
    empty = {"id": 1, "seq": 0, "checkpoint_seq": 0, "seal": b""}
    op.bulk_insert(head, [empty | {"mac": bytes(32), "checkpoint_mac": bytes(32)}])
