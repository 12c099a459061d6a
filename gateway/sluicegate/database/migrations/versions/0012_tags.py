"""Tags of shares, schemas, tables and other assets."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns. Existing entries have no tags, which is null."""
    for table in ("shares", "schemas", "shared_tables", "shared_assets"):
        op.add_column(table, sa.Column("tags", sa.JSON(none_as_null=True)))
