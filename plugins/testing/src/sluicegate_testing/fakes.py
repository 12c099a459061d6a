"""Fakes of the objects that the gateway passes to plugins, and of other plugins."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import quote, unquote

import obstore
from obstore.store import MemoryStore, ObjectStore

from sluicegate.api import (
    AssetKind,
    AuthenticationRequest,
    Catalog,
    CatalogAsset,
    CatalogTable,
    ClientCertificate,
    ConfigurationError,
    CredentialVendor,
    EndedSessions,
    LinkSigner,
    ListedAsset,
    ListedTable,
    ModelVersion,
    NotFound,
    ObjectDirectory,
    PermissionDenied,
    Presigned,
    Principal,
    Scope,
    SnapshotIndexes,
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
    """A link signer whose links cannot be opened, but contain their object.

    Args:
        prefix: The prefix of the storage, for `location_of`.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def sign(self, paths: Sequence[str], expires_in: int) -> Presigned:
        """Return links to objects, by their paths below the storage's prefix."""
        urls = [f"{_LINK}{quote(path, safe='')}?signature=fake" for path in paths]
        return Presigned(urls, (int(time.time()) + expires_in) * 1000)

    def location_of(self, url: str) -> str:
        """Return the location of a link."""
        return self._prefix + unquote(url.removeprefix(_LINK).partition("?")[0])


class FakeContext:
    """A `PluginContext` or `ExecutorContext` for one instance under test.

    Args:
        name: The instance's name.
        storage: The storage instances for `open`, which uses the longest matching prefix.
        snapshot_indexes: Builds snapshot indexes.
    """

    def __init__(
        self,
        name: str = "test",
        *,
        storage: Sequence[Storage] = (),
        snapshot_indexes: SnapshotIndexes | None = None,
    ) -> None:
        self._name = name
        self._snapshot_indexes = snapshot_indexes
        self._links = FakeLinks()
        self._storage = sorted(storage, key=lambda each: len(each.prefix), reverse=True)

    @property
    def name(self) -> str:
        """The instance's name in the configuration."""
        return self._name

    @property
    def links(self) -> LinkSigner:
        """The signer of links, which `FakeLinks.location_of` can parse."""
        return self._links

    @property
    def snapshot_indexes(self) -> SnapshotIndexes | None:
        """Builds snapshot indexes, for executors."""
        return self._snapshot_indexes

    async def open(self, location: str) -> ObjectDirectory:
        """Open a location through the storage that serves it.

        Raises:
            ConfigurationError: No storage serves it.
        """
        for storage in self._storage:
            if f"{location.rstrip('/')}/".startswith(storage.prefix):
                return await storage.open(location)
        raise ConfigurationError("no configured storage serves this location", detail=location)


class MemoryStorage(Storage):
    """Stores objects in memory, and signs fake links.

    Args:
        prefix: The location prefix.
        links: Signs links.
        store: A store to use instead of memory, such as one of `failing_store`.
    """

    def __init__(
        self,
        prefix: str = "memory://lake/",
        links: LinkSigner | None = None,
        store: ObjectStore | None = None,
    ) -> None:
        self._prefix = prefix
        self._links = links or FakeLinks()
        self.store = store or MemoryStore()

    @property
    def prefix(self) -> str:
        """The location prefix that this instance serves."""
        return self._prefix

    async def put(self, location: str, content: bytes) -> None:
        """Store an object."""
        await obstore.put_async(self.store, self._key(location), content)

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """Return fake links. With credentials, they expire no later than these."""
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
            raise PermissionDenied("a location is outside of its storage", detail=location)
        return location[len(self._prefix) :].strip("/")


class MemoryCatalog(Catalog):
    """A catalog of the tables in a mapping from schemas and tables to locations.

    Args:
        schemas: Tables by schema and name.
        assets: Volumes, models and skills by kind and identifier, which is the name of a schema, a dot,
            and the name of the asset.
        versions: Versions of the models, by the identifier of the model.
    """

    def __init__(
        self,
        schemas: Mapping[str, Mapping[str, CatalogTable]],
        assets: Mapping[tuple[AssetKind, str], CatalogAsset] | None = None,
        versions: Mapping[str, Sequence[ModelVersion]] | None = None,
    ) -> None:
        self._schemas = schemas
        self._assets = assets or {}
        self._versions = versions or {}

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
        """Return schema and table, separated by a dot."""
        return f"{schema}.{table}"

    async def load_table(self, identifier: str) -> CatalogTable:
        """Look a table up."""
        schema, _, table = identifier.partition(".")
        try:
            return self._schemas[schema][table]
        except KeyError:
            raise NotFound(f"there is no table '{identifier}'") from None

    async def listed_assets(self, kind: AssetKind, schema: str) -> list[ListedAsset]:
        """A schema's assets of a kind with their ids, locations and comments."""
        if schema not in {*self._schemas, *(name.partition(".")[0] for _, name in self._assets)}:
            raise NotFound(f"there is no schema '{schema}'")
        found = {
            name.partition(".")[2]: asset
            for (each, name), asset in self._assets.items()
            if each == kind and name.partition(".")[0] == schema
        }
        return [
            ListedAsset(name, asset.id, location=asset.location, comment=asset.comment)
            for name, asset in sorted(found.items())
        ]

    async def load_asset(self, kind: AssetKind, identifier: str) -> CatalogAsset:
        """Look a volume, model or skill up."""
        try:
            return self._assets[kind, identifier]
        except KeyError:
            raise NotFound(f"there is no {kind} '{identifier}'") from None

    async def model_versions(self, identifier: str) -> list[ModelVersion]:
        """Return the versions of a model, ascending."""
        await self.load_asset("model", identifier)
        return sorted(self._versions.get(identifier, ()), key=lambda each: each.version)


class MemoryVendor(CredentialVendor):
    """Vends invalid secrets, and records the requests.

    Args:
        kind: The kind of the credentials.
        lifetime: Maximum lifetime in seconds.

    Attributes:
        scopes: Requested scopes, in order.
        answered: Vended credentials, in order.
        ended: Recipients whose sessions were ended, with the time before which they were issued.
        failure: If set, this error is raised instead of vending.
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
        """Return new credentials for the first location."""
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
        """Record the request."""
        self.ended.append((principal.name, before))
        return EndedSessions(applied=True, instructions="the sessions were ended")


class VendingStorage(MemoryStorage, CredentialVendor):
    """Stores objects in memory, and vends credentials for their directories.

    Attributes:
        vendor: The vendor of the credentials.
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


def authentication_request(
    authorization: str | None = None,
    address: str | None = None,
    *,
    method: str = "GET",
    path: str = "/delta-sharing/shares",
    query: str = "",
    headers: Mapping[str, str] | None = None,
    certificate: ClientCertificate | None = None,
) -> AuthenticationRequest:
    """Create a request for an authenticator.

    Args:
        authorization: The `Authorization` header; `None` for a request without it.
        address: IP address of the sender.
        method: HTTP method.
        path: Percent-encoded path.
        query: Query without the question mark.
        headers: Additional headers, by their names in lower case.
        certificate: Client certificate of the sender.
    """

    async def read() -> ClientCertificate | None:
        return certificate

    sent = {} if authorization is None else {"authorization": authorization}
    return AuthenticationRequest(method, path, query, {**sent, **(headers or {})}, address, read)
