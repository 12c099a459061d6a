"""Stand-ins for what the gateway gives to a plugin, and for the plugins that it works with."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import quote, unquote

import obstore
from obstore.store import MemoryStore

from sluicegate.api import (
    Catalog,
    CatalogTable,
    ConfigurationError,
    CredentialVendor,
    EndedSessions,
    LinkSigner,
    ListedTable,
    NotFound,
    ObjectDirectory,
    PermissionDenied,
    Presigned,
    Principal,
    Scope,
    Storage,
    TemporaryCredentials,
)

_LINK = "https://gateway.invalid/content/"
_SECRETS: Mapping[str, tuple[str, ...]] = {
    "aws": ("access_key_id", "secret_access_key", "session_token"),
    "r2": ("access_key_id", "secret_access_key", "session_token"),
    "azure": ("sas_token",),
    "gcp": ("oauth_token",),
}


class FakeLinks:
    """A link signer whose links lead nowhere, but tell which object they are for.

    Args:
        prefix: The prefix of the storage that signs, for `location_of`.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def sign(self, paths: Sequence[str], expires_in: int) -> Presigned:
        """Links to objects, by their paths below the storage's prefix."""
        urls = [f"{_LINK}{quote(path, safe='')}?signature=fake" for path in paths]
        return Presigned(urls, (int(time.time()) + expires_in) * 1000)

    def location_of(self, url: str) -> str:
        """The location that a link is for."""
        return self._prefix + unquote(url.removeprefix(_LINK).partition("?")[0])


class FakeContext:
    """A `PluginContext` for one instance under test.

    Args:
        name: The instance's name.
        storage: What `open` opens locations through, the longest prefix first.
    """

    def __init__(self, name: str = "test", *, storage: Sequence[Storage] = ()) -> None:
        self._name = name
        self._links = FakeLinks()
        self._storage = sorted(storage, key=lambda each: len(each.prefix), reverse=True)

    @property
    def name(self) -> str:
        """The instance's name in the configuration."""
        return self._name

    @property
    def links(self) -> LinkSigner:
        """Signs links that `FakeLinks.location_of` understands."""
        return self._links

    async def open(self, location: str) -> ObjectDirectory:
        """Open a location through the storage that serves it.

        Raises:
            ConfigurationError: None does.
        """
        for storage in self._storage:
            if f"{location.rstrip('/')}/".startswith(storage.prefix):
                return await storage.open(location)
        raise ConfigurationError("no configured storage serves this location", detail=location)


class MemoryStorage(Storage):
    """Objects in memory, behind fake links."""

    def __init__(self, prefix: str = "memory://lake/", links: LinkSigner | None = None) -> None:
        self._prefix = prefix
        self._links = links or FakeLinks()
        self.store = MemoryStore()

    @property
    def prefix(self) -> str:
        """The location prefix that this instance serves."""
        return self._prefix

    async def put(self, location: str, content: bytes) -> None:
        """Keep an object."""
        await obstore.put_async(self.store, self._key(location), content)

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Fake links; those signed with credentials end with these at the latest."""
        signed = self._links.sign([self._key(location) for location in locations], expires_in)
        if credentials is None:
            return signed
        key = credentials.secret["access_key_id"]
        urls = [f"{url}&key={key}" for url in signed.urls]
        return Presigned(urls, min(signed.expires_at, credentials.expires_at or signed.expires_at))

    async def open(
        self, location: str, credentials: TemporaryCredentials | None = None
    ) -> ObjectDirectory:
        """Open a directory in memory."""
        return ObjectDirectory(self.store, self._key(location))

    def _key(self, location: str) -> str:
        if not f"{location.rstrip('/')}/".startswith(self._prefix):
            raise PermissionDenied("a location lies outside of its storage", detail=location)
        return location[len(self._prefix) :].strip("/")


class MemoryCatalog(Catalog):
    """Tables that a mapping names: schema, table, and where it is."""

    def __init__(self, schemas: Mapping[str, Mapping[str, CatalogTable]]) -> None:
        self._schemas = schemas

    async def list_schemas(self) -> list[str]:
        """Names of the schemas, sorted."""
        return sorted(self._schemas)

    async def list_tables(self, schema: str) -> list[str]:
        """Names of a schema's tables, sorted."""
        if schema not in self._schemas:
            raise NotFound(f"there is no schema '{schema}'")
        return sorted(self._schemas[schema])

    async def listed_tables(self, schema: str) -> list[ListedTable]:
        """A schema's tables with their ids."""
        names = await self.list_tables(schema)
        return [ListedTable(name, self._schemas[schema][name].id) for name in names]

    def identifier(self, schema: str, table: str) -> str:
        """Schema and table, with a dot between them."""
        return f"{schema}.{table}"

    async def load_table(self, identifier: str) -> CatalogTable:
        """Look a table up."""
        schema, _, table = identifier.partition(".")
        try:
            return self._schemas[schema][table]
        except KeyError:
            raise NotFound(f"there is no table '{identifier}'") from None


class MemoryVendor(CredentialVendor):
    """Vends secrets that open nothing, and remembers what it was asked.

    Args:
        kind: Whose credentials they look like.
        lifetime: Seconds that they live at most.

    Attributes:
        scopes: What was asked, in order.
        answered: What was given, in order.
        ended: Whose sessions were ended, and what was given before which moment.
        failure: Raised instead of vending, once it is set.
    """

    def __init__(
        self, kind: Literal["aws", "azure", "gcp", "r2"] = "aws", lifetime: int = 43_200
    ) -> None:
        self._kind = kind
        self._lifetime = lifetime
        self.scopes: list[Scope] = []
        self.answered: list[TemporaryCredentials] = []
        self.ended: list[tuple[str, int]] = []
        self.failure: Exception | None = None

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """Other credentials each time, for the first location."""
        self.scopes.append(scope)
        if self.failure is not None:
            raise self.failure
        number = len(self.scopes)
        made = TemporaryCredentials(
            location=scope.locations[0],
            kind=self._kind,
            secret={name: f"{name.replace('_', '-')}-{number}" for name in _SECRETS[self._kind]},
            expires_at=(int(time.time()) + min(scope.lifetime, self._lifetime)) * 1000,
            connection={"account": "lake"} if self._kind == "azure" else {"region": "eu-west-1"},
        )
        self.answered.append(made)
        return made

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """Remember it."""
        self.ended.append((principal.name, before))
        return EndedSessions(applied=True, instructions="the sessions were ended")


class VendingStorage(MemoryStorage, CredentialVendor):
    """Objects in memory, and credentials for their directories.

    Attributes:
        vendor: Vends them.
    """

    def __init__(self, prefix: str = "memory://lake/", links: LinkSigner | None = None) -> None:
        super().__init__(prefix, links)
        self.vendor = MemoryVendor()

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """As `MemoryVendor` does."""
        return await self.vendor.vend(scope)

    async def end_sessions(self, principal: Principal, before: int) -> EndedSessions:
        """As `MemoryVendor` does."""
        return await self.vendor.end_sessions(principal, before)
