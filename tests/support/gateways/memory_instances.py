"""Storage in memory, and configured instances around it.

Without a process, a socket or a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sluicegate.api import (
    Catalog,
    CatalogConfig,
    CatalogType,
    CredentialVendor,
    FormatType,
    ObjectRequest,
    PluginConfig,
    Policy,
    PolicyType,
    Presigned,
    Scope,
    Storage,
    StorageConfig,
    StorageType,
    TableFormat,
    TemporaryCredentials,
)
from sluicegate.plugins import Instances, Registry
from sluicegate.plugins.configured import (
    ConfiguredCatalog,
    ConfiguredInstances,
    ConfiguredPolicy,
    ConfiguredStorage,
)
from sluicegate.plugins.context import NoLinks
from sluicegate_testing.fakes import MemoryStorage, MemoryVendor

T = TypeVar("T")

LAKE = "memory://lake"
EXPIRES = 2_000_000_000_000


class SigningStorage(MemoryStorage, CredentialVendor):
    """Signs URLs that all expire at one time, and vends credentials for its directories.

    Attributes:
        lifetimes: The requested lifetime of each call, seconds.
        labels: The label of each call, or `None`.
        expires_at: Expiry of all URLs, epoch milliseconds.
    """

    def __init__(self, prefix: str = f"{LAKE}/", expires_at: int = EXPIRES) -> None:
        super().__init__(prefix)
        self.signed: list[tuple[list[str], TemporaryCredentials | None]] = []
        self.lifetimes: list[int] = []
        self.labels: list[str | None] = []
        self.expires_at = expires_at
        self.vendor = MemoryVendor()
        self.sealed: tuple[str, ...] = ()
        self.failure: Exception | None = None

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """URLs that are made of the locations."""
        self.signed.append((list(locations), credentials))
        self.lifetimes.append(expires_in)
        if self.failure is not None:
            raise self.failure
        return Presigned([url_of(location) for location in locations], self.expires_at)

    async def presign_request(
        self,
        request: ObjectRequest,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """The same URLs, whatever the request."""
        self.labels.append(request.label)
        return await self.presign(locations, expires_in, credentials)

    def vends(self, location: str) -> bool:
        """Whether the directory is not sealed."""
        return location not in self.sealed

    async def vend(self, scope: Scope) -> TemporaryCredentials:
        """As `MemoryVendor` does."""
        return await self.vendor.vend(scope)


def url_of(location: str) -> str:
    """The URL that `SigningStorage` makes of a location."""
    return f"https://store.example/{location.partition('://')[2]}"


class _MemoryRegistry(Registry):
    """Registers the storage type alone."""

    def __init__(self, storage: StorageType) -> None:
        super().__init__([])
        self.types = replace(self.types, storage={"memory": storage})


def _always(made: T) -> Callable[..., T]:
    return lambda *_: made


def memory_instances(
    *storages: Storage,
    catalogs: Mapping[str, Catalog] | None = None,
    formats: Mapping[str, TableFormat] | None = None,
    policies: Mapping[str, Policy] | None = None,
    absolute_paths: tuple[str, ...] = (),
) -> Instances:
    """Configured instances that are made already."""
    types = [
        StorageType("memory", ("memory", "mem"), StorageConfig, _always(each)) for each in storages
    ]
    configured = ConfiguredInstances(
        catalogs=tuple(
            ConfiguredCatalog(
                name, CatalogType("memory", CatalogConfig, _always(each)), CatalogConfig()
            )
            for name, each in (catalogs or {}).items()
        ),
        storage=tuple(
            ConfiguredStorage(
                f"memory-{number}",
                known,
                StorageConfig(prefix=each.prefix, absolute_paths=() if number > 1 else absolute_paths),
            )
            for number, (known, each) in enumerate(zip(types, storages, strict=True), start=1)
        ),
        authenticators=(),
        policies=tuple(
            ConfiguredPolicy(name, PolicyType("memory", PluginConfig, _always(each)), PluginConfig())
            for name, each in (policies or {}).items()
        ),
    )
    made = [FormatType(name, _always(each)) for name, each in (formats or {}).items()]
    registry = _MemoryRegistry(types[0])
    return Instances(registry, configured, links=NoLinks, formats=made)
