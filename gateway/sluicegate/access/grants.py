"""Looks up what each recipient is granted, cached in memory for use by every request.

Shares that are not granted and shares that do not exist result in the same `NotFound`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from sluicegate.access.cache import CachedReads, Freshness
from sluicegate.api.assets.models import AssetKind, SharedAsset
from sluicegate.api.errors import NotFound
from sluicegate.api.models import Schema, Share, SharedTable
from sluicegate.api.principals import Principal
from sluicegate.audit.trail import note_grant
from sluicegate.database import Store
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.names import name_key
from sluicegate.database.reads import (
    CredentialRecord,
    RecipientRecord,
    any_imported_token,
    load_assets,
    load_client,
    load_recipient,
    load_schemas,
    load_shares,
    load_tables,
    load_token,
)
from sluicegate.database.statements.revisions import RevisionKind

# Capacities of the caches: of credentials and recipients, and of rows of each kind.
_CREDENTIALS = 10_000
_ROWS = 200_000
# What the caches depend on. Tables and other assets inherit the tags of their schemas and shares.
_RECIPIENTS: tuple[RevisionKind, ...] = ("recipients", "credentials")
_GRANTED: tuple[RevisionKind, ...] = ("grants", "shares")
_SCHEMAS: tuple[RevisionKind, ...] = ("shares",)
_CONTENT: tuple[RevisionKind, ...] = ("shares", "tables")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Noun = TypeVar("_Noun", bound=_Named)


@dataclass(frozen=True, slots=True)
class _Listing(Generic[_Noun]):
    """Shares, schemas, tables or other assets, sorted by their casefolded names and indexed by them."""

    ordered: Sequence[_Noun]
    by_key: Mapping[str, _Noun]

    @property
    def weight(self) -> int:
        return len(self.ordered) + 1


class Grants:
    """Grants of recipients, cached until what they depend on changes in the database.

    Every method raises `Unavailable` if the database does not respond and no usable value is cached.
    """

    def __init__(
        self,
        store: Store,
        *,
        max_age: float = 1.0,
        max_stale: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        freshness = Freshness(store, max_age=max_age, max_stale=max_stale, clock=clock)
        self.on_change = freshness.on_change
        self._tokens = CachedReads[bytes, CredentialRecord](freshness, _RECIPIENTS, _CREDENTIALS)
        self._imported = CachedReads[str, tuple[bool]](freshness, _RECIPIENTS, 1)
        self._clients = CachedReads[str, CredentialRecord](freshness, _RECIPIENTS, _CREDENTIALS)
        self._recipients = CachedReads[str, RecipientRecord](freshness, _RECIPIENTS, _CREDENTIALS)
        self._shares = _Cached[Share](freshness, _GRANTED)
        self._schemas = _Cached[Schema](freshness, _SCHEMAS)
        self._tables = _Cached[SharedTable](freshness, _CONTENT)
        self._assets = _Cached[SharedAsset](freshness, _CONTENT)

    async def token(self, digest: bytes) -> CredentialRecord | None:
        """The bearer token with this SHA-256, whether or not it is still valid."""
        return await self._tokens.get(digest, lambda connection: load_token(connection, digest))

    async def has_imported_tokens(self) -> bool:
        """Whether tokens of another server were imported, whether or not they are still valid."""
        return await self._imported.get("", any_imported_token) == (True,)

    async def client(self, client_id: str) -> CredentialRecord | None:
        """The OAuth client with this id, whether or not it is still valid."""
        return await self._clients.get(client_id, lambda reader: load_client(reader, client_id))

    async def recipient(self, name: str) -> RecipientRecord | None:
        """A recipient by name, whether or not it is revoked."""
        return await self._recipients.get(name_key(name), lambda reader: load_recipient(reader, name))

    async def shares(self, principal: Principal) -> Sequence[Share]:
        """The shares that a recipient was granted, sorted by casefolded name."""
        return (await self._granted(principal)).ordered

    async def share(self, principal: Principal, name: str) -> Share:
        """A share by name."""
        share = (await self._granted(principal)).by_key.get(name_key(name))
        if share is None:
            raise NotFound(f"there is no share {name!r}").decided_by("grant")
        note_grant(share.name)
        return share

    async def schemas(self, principal: Principal, share: str) -> Sequence[Schema]:
        """The schemas of a granted share, sorted by casefolded name."""
        return await self.schemas_of(await self.share(principal, share))

    async def schema(self, principal: Principal, share: str, name: str) -> Schema:
        """A schema of a granted share by name."""
        return await self.schema_of(await self.share(principal, share), name)

    async def schemas_of(self, share: Share) -> Sequence[Schema]:
        """The schemas that a share declares; see `schemas`."""
        return (await self._schemas_of(share)).ordered

    async def schema_of(self, share: Share, name: str) -> Schema:
        """A schema that a share declares, by name."""
        schema = await self._schemas.one(
            share.id, name, lambda reader: load_schemas(reader, share, name)
        )
        if schema is None:
            raise NotFound(f"there is no schema {name!r} in the share {share.name!r}")
        return schema

    async def tables(self, schema: Schema) -> Sequence[SharedTable]:
        """The tables that a schema declares individually, sorted by casefolded name."""
        return (await self._tables_of(schema)).ordered

    async def table(self, schema: Schema, name: str) -> SharedTable | None:
        """A table that a schema declares individually, by name; `None` if it doesn't."""
        return await self._tables.one(schema.id, name, lambda reader: load_tables(reader, schema, name))

    async def assets(self, schema: Schema, kind: AssetKind) -> Sequence[SharedAsset]:
        """The assets of a kind that a schema declares, sorted by casefolded name."""
        return (await self._assets_of(schema, kind)).ordered

    async def asset(self, schema: Schema, kind: AssetKind, name: str) -> SharedAsset | None:
        """An asset that a schema declares, by kind and name; `None` if it doesn't."""
        return await self._assets.one(
            f"{kind} {schema.id}", name, lambda reader: load_assets(reader, schema, kind, name)
        )

    async def preload(self) -> None:
        """Read names that do not exist, so that the statements for real ones are compiled."""
        nobody = Principal("", "", "")
        share = Share("", "")
        await self.token(b"")
        await self._granted(nobody)
        schema = Schema("", share, "")
        await self._schemas_of(share)
        await self._tables_of(schema)
        await self._schemas.one("", "", lambda reader: load_schemas(reader, share, ""))
        await self._tables.one("", "", lambda reader: load_tables(reader, schema, ""))

    async def _granted(self, principal: Principal) -> _Listing[Share]:
        recipient = principal.id
        return await self._shares.all(recipient, lambda reader: load_shares(reader, recipient))

    async def _schemas_of(self, share: Share) -> _Listing[Schema]:
        return await self._schemas.all(share.id, lambda reader: load_schemas(reader, share))

    async def _tables_of(self, schema: Schema) -> _Listing[SharedTable]:
        return await self._tables.all(schema.id, lambda reader: load_tables(reader, schema))

    async def _assets_of(self, schema: Schema, kind: AssetKind) -> _Listing[SharedAsset]:
        key = f"{kind} {schema.id}"
        return await self._assets.all(key, lambda reader: load_assets(reader, schema, kind))


class _Cached(Generic[_Noun]):
    """Cached listings, and single members of those that are not cached."""

    def __init__(self, freshness: Freshness, kinds: Collection[RevisionKind]) -> None:
        self._listings = CachedReads[str, _Listing[_Noun]](freshness, kinds, _ROWS, _weight)
        self._members = CachedReads[tuple[str, str], tuple[_Noun, ...]](freshness, kinds, _ROWS)

    async def all(
        self, key: str, load: Callable[[AsyncConnection], Awaitable[Sequence[_Noun]]]
    ) -> _Listing[_Noun]:
        """The listing of a key."""

        async def listing(connection: AsyncConnection) -> _Listing[_Noun]:
            nouns = await load(connection)
            return _Listing(nouns, {name_key(noun.name): noun for noun in nouns})

        return await self._listings.get(key, listing) or _Listing((), {})

    async def one(
        self, key: str, name: str, load: Callable[[AsyncConnection], Awaitable[Sequence[_Noun]]]
    ) -> _Noun | None:
        """The member of a listing with a name, in any case. The others are not loaded.

        That there is no such member is cached, too.
        """
        known = await self._listings.cached(key)
        if known is not None:
            return known.by_key.get(name_key(name))

        async def members(connection: AsyncConnection) -> tuple[_Noun, ...]:
            return tuple(await load(connection))

        found = await self._members.get((key, name_key(name)), members)
        return found[0] if found else None


def _weight(listing: _Listing[_Noun]) -> int:
    return listing.weight
