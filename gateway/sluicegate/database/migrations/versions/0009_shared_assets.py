"""Shared volumes, models and skills, and their entries in the ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, and add the column. Existing entries of the ledger are about tables."""
    op.create_table(
        "shared_assets",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("schema_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("catalog", sa.Text(), nullable=False),
        sa.Column("identifier", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text()),
        sa.Column("versions", sa.JSON(none_as_null=True)),
        sa.Column("aliases", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_shared_assets"),
        sa.ForeignKeyConstraint(
            ["schema_id"], ["schemas.id"], name="fk_shared_assets_schema_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("schema_id", "kind", "key", name="uq_shared_assets_schema_id_kind_key"),
    )
    op.add_column("ledger", sa.Column("asset", sa.Text()))
