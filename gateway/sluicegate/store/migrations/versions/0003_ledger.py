"""The ledger of what was given to recipients, and when each of them was last revoked."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table; a recipient that is revoked now was last revoked then."""
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
