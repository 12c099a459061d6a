"""The delivery of profiles that activation links issue."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the credential that a used link has issued, and that has not left the gateway yet."""
    op.add_column("activation_links", sa.Column("undelivered", sa.Text))
