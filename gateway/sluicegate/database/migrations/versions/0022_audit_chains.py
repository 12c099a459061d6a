"""A chain of the audit log for each process."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, and the register of no chains, which has no seal, because that needs a key.

    Processes of earlier versions continue to write their chain, in its tables.
    """
    chains = op.create_table(
        "audit_chains",
        sa.Column("chain", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("mac", sa.LargeBinary, nullable=False),
        sa.Column("checkpoint_seq", sa.BigInteger, nullable=False),
        sa.Column("checkpoint_mac", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("renewed_at", sa.BigInteger, nullable=False),
    )
    empty = {"chain": 0, "seq": 0, "checkpoint_seq": 0, "seal": b"", "owner": "", "renewed_at": 0}
    op.bulk_insert(chains, [empty | {"mac": bytes(32), "checkpoint_mac": bytes(32)}])
    op.create_table(
        "audit_chain_blocks",
        sa.Column("chain", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("first_seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("first_at", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.Column("mac", sa.LargeBinary, nullable=False),
        sa.Column("records", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_audit_chain_blocks_last_at", "audit_chain_blocks", ["chain", "last_at"])
    op.create_table(
        "audit_index",
        sa.Column("chain", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("first_seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("names", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
    )
