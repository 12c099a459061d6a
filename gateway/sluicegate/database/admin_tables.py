"""The tables of administrators and activation links, in the same metadata as the others.

Times are epoch milliseconds, durations seconds. Of a token, only the SHA-256 is stored.
"""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, LargeBinary, Table, Text

from sluicegate.database.tables import metadata

activation_links = Table(
    "activation_links",
    metadata,
    Column("id", Text, primary_key=True),
    Column(
        "recipient_id",
        Text,
        ForeignKey("recipients.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("token_lifetime", BigInteger),
    Column("grace", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
    Column("withdrawn_at", BigInteger),
)
"""Links that issue a credential once. `token_lifetime` and `grace` are those of that credential."""

admins = Table(
    "admins",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("shares", JSON(none_as_null=True)),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)
"""Administrators with a token. `shares` are names of the only shares that they manage; null for all."""
