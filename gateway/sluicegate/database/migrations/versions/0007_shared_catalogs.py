"""The catalog whose schemas a share contains."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Existing shares declare their schemas."""
    op.add_column("shares", sa.Column("source", sa.JSON(none_as_null=True)))
