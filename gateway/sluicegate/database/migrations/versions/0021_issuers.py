"""For which shares an administrator of only some shares issued a credential."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the shares of the issuer to credentials and activation links."""
    for table in ("tokens", "activation_links"):
        op.add_column(table, sa.Column("issued_for", sa.JSON(none_as_null=True)))
