"""The tables of administrators, their sessions and activation links, in the metadata of the others.

Times are epoch milliseconds, durations seconds. Of tokens and cookies, only the SHA-256 is stored.
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
    Column("undelivered", Text),
    Column("issued_for", JSON(none_as_null=True)),
)
"""Links that issue a credential once. Lifetime, grace and `issued_for` are those of that credential.

`undelivered` is the id of the credential that a used link has issued, until its profile has left the
gateway.
"""

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

console_sessions = Table(
    "console_sessions",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("admin_id", Text, ForeignKey("admins.id", ondelete="CASCADE"), index=True),
    Column("identity", JSON(none_as_null=True)),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("used_at", BigInteger, nullable=False),
)
"""Sessions of the console: of an administrator with a token, or (`identity`) of an OIDC issuer."""
