"""The database's tables. `key` columns hold casefolded names: names are case-insensitive.

Source: Delta Sharing protocol, "Names". Times are epoch milliseconds, durations seconds, ids UUIDs.
Of a token or a client secret, only the SHA-256 is stored.
"""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

CredentialKind = Literal["bearer", "oauth"]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _parent(column: str, parent: str, *, index: bool = False, primary: bool = False) -> Column[str]:
    reference = ForeignKey(f"{parent}.id", ondelete="CASCADE")
    return Column(column, Text, reference, nullable=False, index=index, primary_key=primary)


shares = Table(
    "shares",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("display_name", Text),
    Column("comment", Text),
    Column("properties", JSON, nullable=False),
    Column("source", JSON(none_as_null=True)),
    Column("tags", JSON(none_as_null=True)),
)

schemas = Table(
    "schemas",
    metadata,
    Column("id", Text, primary_key=True),
    _parent("share_id", "shares"),
    Column("key", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("comment", Text),
    Column("source", JSON(none_as_null=True)),
    Column("tags", JSON(none_as_null=True)),
    UniqueConstraint("share_id", "key"),
)

shared_tables = Table(
    "shared_tables",
    metadata,
    Column("id", Text, primary_key=True),
    _parent("schema_id", "schemas"),
    Column("key", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("catalog", Text, nullable=False),
    Column("identifier", Text, nullable=False),
    Column("comment", Text),
    Column("history", Boolean, nullable=False),
    Column("change_feed", Boolean, nullable=False),
    Column("start_version", BigInteger, nullable=False),
    Column("partition_filter", Text),
    Column("access_modes", JSON, nullable=False),
    Column("ref", Text),
    Column("tags", JSON(none_as_null=True)),
    UniqueConstraint("schema_id", "key"),
)

shared_assets = Table(
    "shared_assets",
    metadata,
    Column("id", Text, primary_key=True),
    _parent("schema_id", "schemas"),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("catalog", Text, nullable=False),
    Column("identifier", Text, nullable=False),
    Column("comment", Text),
    Column("versions", JSON(none_as_null=True)),
    Column("aliases", JSON, nullable=False),
    Column("tags", JSON(none_as_null=True)),
    UniqueConstraint("schema_id", "kind", "key"),
)
"""Volumes, models and skills. `versions` and `aliases` are those of models."""

recipients = Table(
    "recipients",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("comment", Text),
    Column("token_lifetime", BigInteger),
    Column("allow_from", JSON, nullable=False),
    Column("properties", JSON, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("last_revoked_at", BigInteger),
    Column("limits", JSON(none_as_null=True)),
)
"""`last_revoked_at` stays when a recipient is enabled again, so that older vends aren't reused."""

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    _parent("recipient_id", "recipients", index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("kind", Text, nullable=False, server_default="bearer"),
    Column("warned_at", BigInteger),
    Column("issued_for", JSON(none_as_null=True)),
)
"""Credentials of recipients, of each `CredentialKind`. For an OAuth client, `id` is the client id.

`issued_for` are casefolded names of the only shares that the issuer manages; null for all.
`warned_at` is when a process has taken on to warn that the credential ends soon.
"""

grants = Table(
    "grants",
    metadata,
    _parent("recipient_id", "recipients", primary=True),
    _parent("share_id", "shares", primary=True, index=True),
)

revision = Table(
    "revision",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("value", BigInteger, nullable=False),
    *(
        Column(name, BigInteger, nullable=False, server_default=text("0"))
        for name in ("attributed", "recipients", "credentials", "grants", "shares", "tables")
    ),
)
"""One row, so that caches detect that they are stale. Every write transaction increments `value`.

Those that name what they change also increment `attributed`, and the columns of these kinds.
"""

ledger = Table(
    "ledger",
    metadata,
    Column("id", Text, primary_key=True),
    Column("given_at", BigInteger, nullable=False, index=True),
    Column("issued_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("kind", Text, nullable=False),
    Column("cloud", Text),
    Column("binding", Text),
    Column("recipient_id", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("share", Text, nullable=False),
    Column("schema", Text, nullable=False),
    Column("table", Text, nullable=False),
    Column("table_id", Text, nullable=False),
    Column("locations", JSON, nullable=False),
    Column("files", BigInteger),
    Column("address", Text),
    Column("request_id", Text),
    Column("asset", Text),
)
"""Issued credentials without secrets. Names are copies, because entries outlive shares and tables.

`asset` is the kind of asset that the columns of the table name; it is null for tables.
"""

ledger_days = Table(
    "ledger_days",
    metadata,
    Column("grouping", Text, primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),
    *(
        Column(name, Text, primary_key=True)
        for name in ("recipient", "share", "schema", "table", "asset")
    ),
    Column("responses", BigInteger, nullable=False),
    Column("credentials", BigInteger, nullable=False),
    Column("files", BigInteger, nullable=False),
)
"""Sums of the ledger by day (UTC, in days since the epoch). Names that a grouping sums over are empty.

Each day that is summed has one row of the grouping `day`, also if the ledger has no entries for it.
"""

daily_usage = Table(
    "daily_usage",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("subject", Text, primary_key=True),
    Column("files", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("written_at", BigInteger, nullable=False),
)
"""Data files offered to recipients and addresses with limits, by day (UTC) in days since the epoch.

A subject is the id of a recipient, or an address. Rows outlive recipients, so that a gateway can still
write what a removed one was offered.
"""

iceberg_field_ids = Table(
    "iceberg_field_ids",
    metadata,
    Column("table_key", Text, primary_key=True),
    Column("field_id", Integer, primary_key=True),
    Column("parent_id", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("gone_at", BigInteger),
)
"""Ids of fields that have none in their table. `gone_at` is the first version without the field."""


def _head_of_chain() -> tuple[Column[Any], ...]:
    return (
        Column("seq", BigInteger, nullable=False),
        Column("mac", LargeBinary, nullable=False),
        Column("checkpoint_seq", BigInteger, nullable=False),
        Column("checkpoint_mac", LargeBinary, nullable=False),
        Column("seal", LargeBinary, nullable=False),
    )


def _records_of_block() -> tuple[Column[Any], ...]:
    return (
        Column("count", Integer, nullable=False),
        Column("first_at", BigInteger, nullable=False),
        Column("last_at", BigInteger, nullable=False),
        Column("mac", LargeBinary, nullable=False),
        Column("records", LargeBinary, nullable=False),
    )


audit_chains = Table(
    "audit_chains",
    metadata,
    Column("chain", Integer, primary_key=True, autoincrement=False),
    *_head_of_chain(),
    Column("owner", Text, nullable=False),
    Column("renewed_at", BigInteger, nullable=False),
)
"""The chains of the audit log. Each is written by one process at a time, its `owner`.

`seq` and `mac` are those of the last line, `checkpoint_seq` and `checkpoint_mac` those of the last line
that was deleted. Chain 0 is the register: `seq` is the number of chains.
"""

audit_chain_blocks = Table(
    "audit_chain_blocks",
    metadata,
    Column("chain", Integer, primary_key=True, autoincrement=False),
    Column("first_seq", BigInteger, primary_key=True, autoincrement=False),
    *_records_of_block(),
    Index("ix_audit_chain_blocks_last_at", "chain", "last_at"),
)
"""Records of one chain that were written together: their lines, which can be compressed.

`first_at` and `last_at` are the smallest and largest time in the block, `mac` is that of its last line.
"""

audit_blocks = Table(
    "audit_blocks",
    metadata,
    Column("first_seq", BigInteger, primary_key=True, autoincrement=False),
    *_records_of_block(),
    Index("ix_audit_blocks_last_at", "last_at"),
)
"""Blocks of the chain that all processes of earlier versions have in common."""

audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    *_head_of_chain(),
)
"""One row: the last line of the chain of earlier versions, and the last one that was deleted."""

audit_index = Table(
    "audit_index",
    metadata,
    Column("chain", Integer, primary_key=True, autoincrement=False),
    Column("first_seq", BigInteger, primary_key=True, autoincrement=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("names", LargeBinary, nullable=False),
    Column("seal", LargeBinary, nullable=False),
)
"""Which names and ids the records of some blocks in sequence contain, as sorted hashes."""

plugin_migrations = Table(
    "plugin_migrations",
    metadata,
    Column("plugin", Text, primary_key=True),
    Column("migration", Text, primary_key=True),
    Column("migrated_at", BigInteger, nullable=False),
)
"""The migrations of plugins' tables that were made."""
