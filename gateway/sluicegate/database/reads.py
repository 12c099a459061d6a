"""Queries that requests run, with models as results. Lists are sorted by casefolded name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from sqlalchemy import ColumnElement, Row, Table, exists, select

from sluicegate.api.assets.models import AssetKind, SharedAsset
from sluicegate.api.models import Schema, Share, SharedCatalogSource, SharedSchemaSource, SharedTable
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.tables import (
    CredentialKind,
    grants,
    recipients,
    schemas,
    shared_assets,
    shared_tables,
    shares,
    tokens,
)

Network = IPv4Network | IPv6Network

IMPORTED = "imported-"
"""Start of the ids of tokens that another server issued."""


@dataclass(frozen=True, slots=True)
class RecipientRecord:
    """A recipient, which may be revoked.

    Attributes:
        allow_from: Networks that it may send requests from; empty for all networks.
        revoked_at: Epoch milliseconds, or `None`.
        last_revoked_at: Epoch milliseconds of the last revocation, which stays if the recipient is
            enabled again; or `None`.
    """

    id: str
    name: str
    properties: Mapping[str, str]
    allow_from: tuple[Network, ...]
    revoked_at: int | None
    last_revoked_at: int | None = None


@dataclass(frozen=True, slots=True)
class CredentialRecord:
    """An issued bearer token or OAuth client, and the recipient that it authenticates.

    Attributes:
        expires_at: Epoch milliseconds.
        revoked_at: Epoch milliseconds, or `None`.
    """

    id: str
    digest: bytes
    recipient: RecipientRecord
    expires_at: int
    revoked_at: int | None


async def load_token(connection: AsyncConnection, digest: bytes) -> CredentialRecord | None:
    """Return the bearer token with this digest, even if it is expired or revoked."""
    return await _credential(connection, "bearer", tokens.c.digest == digest)


async def any_imported_token(connection: AsyncConnection) -> tuple[bool]:
    """Return whether there are tokens that another server issued."""
    query = select(exists().where(tokens.c.id.startswith(IMPORTED, autoescape=True)))
    return (bool((await connection.execute(query)).scalar_one()),)


async def load_client(connection: AsyncConnection, client_id: str) -> CredentialRecord | None:
    """Return the OAuth client with this id, even if it is expired or revoked."""
    return await _credential(connection, "oauth", tokens.c.id == client_id)


async def load_recipient(connection: AsyncConnection, name: str) -> RecipientRecord | None:
    """Return the recipient with this name, regardless of case."""
    query = select(recipients).where(recipients.c.key == name_key(name))
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else recipient_of(row)


async def _credential(
    connection: AsyncConnection, kind: CredentialKind, which: ColumnElement[bool]
) -> CredentialRecord | None:
    query = select(tokens).where(tokens.c.kind == kind, which)
    token = (await connection.execute(query)).one_or_none()
    if token is None:
        return None
    holder = select(recipients).where(recipients.c.id == token.recipient_id)
    recipient = recipient_of((await connection.execute(holder)).one())
    return CredentialRecord(token.id, token.digest, recipient, token.expires_at, token.revoked_at)


def recipient_of(row: Row[Any]) -> RecipientRecord:
    """The recipient in a row of `recipients`."""
    return RecipientRecord(
        id=row.id,
        name=row.name,
        properties=row.properties,
        allow_from=tuple(ip_network(network) for network in row.allow_from),
        revoked_at=row.revoked_at,
        last_revoked_at=row.last_revoked_at,
    )


async def load_shares(connection: AsyncConnection, recipient_id: str) -> list[Share]:
    """Return the shares that are granted to a recipient."""
    query = (
        select(shares)
        .join(grants, grants.c.share_id == shares.c.id)
        .where(grants.c.recipient_id == recipient_id)
    )
    found = await connection.execute(query)
    return [share_of(row) for row in _sorted(found)]


def share_of(row: Row[Any]) -> Share:
    """The share in a row of `shares`."""
    return Share(
        id=row.id,
        name=row.name,
        display_name=row.display_name,
        comment=row.comment,
        properties=row.properties,
        source=row.source and SharedCatalogSource(**_values(row.source)),
        tags=row.tags or {},
    )


async def load_schemas(
    connection: AsyncConnection, share: Share, name: str | None = None
) -> list[Schema]:
    """Return the schemas of a share, or only the one with a name, regardless of case."""
    query = select(schemas).where(schemas.c.share_id == share.id, *_named(schemas, name))
    found = await connection.execute(query)
    return [
        Schema(
            row.id,
            share,
            row.name,
            row.comment,
            row.source and SharedSchemaSource(**_values(row.source)),
            row.tags or {},
        )
        for row in _sorted(found)
    ]


async def load_tables(
    connection: AsyncConnection, schema: Schema, name: str | None = None
) -> list[SharedTable]:
    """Return the tables that a schema declares individually, or only the one with a name."""
    mine = shared_tables.c.schema_id == schema.id
    found = await connection.execute(select(shared_tables).where(mine, *_named(shared_tables, name)))
    inherited = inherited_tags(schema)
    return [
        SharedTable(
            id=row.id,
            share=schema.share.name,
            share_id=schema.share.id,
            schema=schema.name,
            name=row.name,
            catalog=row.catalog,
            identifier=row.identifier,
            comment=row.comment,
            history=row.history,
            change_feed=row.change_feed,
            start_version=row.start_version,
            partition_filter=row.partition_filter,
            access_modes=tuple(row.access_modes),
            ref=row.ref,
            tags=_tags(inherited, row.tags),
        )
        for row in _sorted(found)
    ]


async def load_assets(
    connection: AsyncConnection, schema: Schema, kind: AssetKind, name: str | None = None
) -> list[SharedAsset]:
    """Return the assets of a kind that a schema declares, or only the one with a name."""
    mine = (shared_assets.c.schema_id == schema.id, shared_assets.c.kind == kind)
    found = await connection.execute(select(shared_assets).where(*mine, *_named(shared_assets, name)))
    inherited = inherited_tags(schema)
    return [
        SharedAsset(
            id=row.id,
            share=schema.share.name,
            share_id=schema.share.id,
            schema=schema.name,
            name=row.name,
            catalog=row.catalog,
            identifier=row.identifier,
            comment=row.comment,
            kind=kind,
            versions=None if row.versions is None else tuple(row.versions),
            aliases=tuple(sorted(row.aliases.items())),
            tags=_tags(inherited, row.tags),
        )
        for row in _sorted(found)
    ]


def _named(table: Table, name: str | None) -> tuple[ColumnElement[bool], ...]:
    return () if name is None else (table.c.key == name_key(name),)


def inherited_tags(schema: Schema) -> Mapping[str, str]:
    """Return the tags of a schema's tables. Those of the schema take precedence over its share's."""
    return {**schema.share.tags, **schema.tags} if schema.tags else schema.share.tags


def _tags(inherited: Mapping[str, str], own: Mapping[str, str] | None) -> Mapping[str, str]:
    return {**inherited, **own} if own else inherited


def _sorted(rows: Any) -> list[Row[Any]]:
    # Page tokens need the same order on each database, and the databases collate differently.
    return sorted(rows, key=lambda row: row.key)


def _values(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored source's values. Sources that are older than table options have none."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in source.items()}
