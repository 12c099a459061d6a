"""The ledger of issued credentials, and the time of each recipient's last revocation."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table. For a revoked recipient, `last_revoked_at` is `revoked_at`."""
    op.create_table(
        "ledger",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("given_at", sa.BigInteger, nullable=False, index=True),
        sa.Column("issued_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        *(sa.Column(name, sa.Text, nullable=name not in _REQUIRED) for name in _TEXTS),
        sa.Column("locations", sa.JSON, nullable=False),
        sa.Column("files", sa.BigInteger),
    )
    op.add_column("recipients", sa.Column("last_revoked_at", sa.BigInteger))
    op.execute("UPDATE recipients SET last_revoked_at = revoked_at")


_REQUIRED = ("kind", "recipient_id", "recipient", "share", "schema", "table", "table_id")
_TEXTS = (*_REQUIRED, "cloud", "binding", "address", "request_id")
