"""What requests read from the database, as nouns. Lists are sorted by casefolded name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from sluicegate.nouns import Schema, Share, SharedSchemaSource, SharedTable
from sluicegate.store.tables import grants, recipients, schemas, shared_tables, shares, tokens

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A bearer token that was issued, and the recipient that it proves.

    Attributes:
        digest: SHA-256 of the token.
        allow_from: Networks that the recipient may call from; empty for everywhere.
        expires_at: Epoch milliseconds.
        revoked_at: Epoch milliseconds, or `None`.
    """

    digest: bytes
    recipient_id: str
    recipient: str
    properties: Mapping[str, str]
    allow_from: tuple[Network, ...]
    expires_at: int
    revoked_at: int | None


async def load_token(connection: AsyncConnection, digest: bytes) -> TokenRecord | None:
    """The token with this digest, whether or not it is still valid."""
    query = (
        select(tokens, recipients.c.name, recipients.c.properties, recipients.c.allow_from)
        .join(recipients, recipients.c.id == tokens.c.recipient_id)
        .where(tokens.c.digest == digest)
    )
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        return None
    return TokenRecord(
        digest=row.digest,
        recipient_id=row.recipient_id,
        recipient=row.name,
        properties=row.properties,
        allow_from=tuple(ip_network(network) for network in row.allow_from),
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )


async def load_shares(connection: AsyncConnection, recipient_id: str) -> list[Share]:
    """The shares that a recipient is granted."""
    query = (
        select(shares)
        .join(grants, grants.c.share_id == shares.c.id)
        .where(grants.c.recipient_id == recipient_id)
    )
    found = await connection.execute(query)
    return [
        Share(row.id, row.name, row.display_name, row.comment, row.properties) for row in _sorted(found)
    ]


async def load_schemas(connection: AsyncConnection, share: Share) -> list[Schema]:
    """The schemas of a share."""
    found = await connection.execute(select(schemas).where(schemas.c.share_id == share.id))
    return [
        Schema(row.id, share, row.name, row.comment, row.source and _source(row.source))
        for row in _sorted(found)
    ]


async def load_tables(connection: AsyncConnection, schema: Schema) -> list[SharedTable]:
    """The tables that a schema declares one by one."""
    found = await connection.execute(
        select(shared_tables).where(shared_tables.c.schema_id == schema.id)
    )
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
        )
        for row in _sorted(found)
    ]


def _sorted(rows: Any) -> list[Row[Any]]:
    # Databases collate differently; page tokens need one order.
    return sorted(rows, key=lambda row: row.key)


def _source(stored: Mapping[str, Any]) -> SharedSchemaSource:
    return SharedSchemaSource(
        stored["catalog"], stored["schema"], tuple(stored["include"]), tuple(stored["exclude"])
    )
