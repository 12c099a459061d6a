"""The configured instances: catalogs, storage, formats, authenticators, policies and executors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sluicegate._util.lazy import LateMapping
from sluicegate.api import (
    Authenticator,
    Catalog,
    FormatType,
    LinkSigner,
    ObjectDirectory,
    Policy,
    SnapshotIndexes,
    Storage,
    TableFormat,
    TaskExecutor,
)
from sluicegate.api.errors import ConfigurationError, NotFound, SluicegateError, check_challenge
from sluicegate.plugins.configured import (
    ConfiguredAuthenticator,
    ConfiguredCatalog,
    ConfiguredExecutor,
    ConfiguredInstances,
    ConfiguredPolicy,
    ConfiguredStorage,
)
from sluicegate.plugins.context import InstanceContext, NoLinks
from sluicegate.plugins.failures import failure_reason
from sluicegate.plugins.hooks import Registry
from sluicegate.plugins.locations import (
    as_prefix,
    bucket_of,
    canonical_location,
    spellings_of,
)


def check_authenticator(name: str, kind: str, authenticator: Authenticator) -> None:
    """Check that an authenticator accepts a request, and that its challenge is valid."""
    signature = inspect.signature(authenticator.authenticate)
    try:
        signature.bind(None)
    except TypeError:
        raise ConfigurationError(
            f"'{name}' (type {kind}): authenticate{signature} must take one AuthenticationRequest, as "
            "the plugin API 1.0 defines it: upgrade the plugin"
        ) from None
    if authenticator.challenge is None:
        return
    try:
        check_challenge(authenticator.challenge)
    except ValueError as error:
        raise ConfigurationError(f"'{name}' (type {kind}): {error}") from error


Instance = TypeVar("Instance")


class Instances:
    """Builds every configured instance once, and closes them at the end."""

    def __init__(
        self,
        registry: Registry,
        configured: ConfiguredInstances,
        *,
        links: Callable[[str], LinkSigner],
        formats: Sequence[FormatType] = (),
        guard: Callable[[ConfiguredCatalog, Catalog], Catalog] = lambda _, catalog: catalog,
    ) -> None:
        self._links = links
        self._spellings = spellings_of(registry.types.storage.values())
        self._storage: Mapping[str, Storage] = {
            entry.name: _build(entry, entry.type.factory, self._storage_context(entry))
            for entry in configured.storage
        }
        self._by_prefix = sorted(
            ((entry.config.prefix, self._storage[entry.name]) for entry in configured.storage),
            key=lambda pair: len(pair[0]),
            reverse=True,
        )
        self._absolute = tuple(
            prefix for entry in configured.storage for prefix in entry.config.absolute_paths
        )
        self._catalogs: Mapping[str, Catalog] = {
            entry.name: guard(
                entry,
                _build(entry, entry.type.factory, self._context(entry.name, f"catalog '{entry.name}'")),
            )
            for entry in configured.catalogs
        }
        self._authenticators: Sequence[Authenticator] = [
            self._authenticator(entry) for entry in configured.authenticators
        ]
        self._policies: Mapping[str, Policy] = {
            entry.name: _build(
                entry, entry.type.factory, self._context(entry.name, f"policy '{entry.name}'")
            )
            for entry in configured.policies
        }
        types = {known.name: known for known in (*formats, *registry.types.formats.values())}
        self._formats = LateMapping({name: known.factory for name, known in types.items()})
        for name in registry.types.formats:
            self._formats[name]  # a plugin's format that cannot be built refuses the start
        self._open = True

    @property
    def catalogs(self) -> Mapping[str, Catalog]:
        """The configured catalogs, by name, in the order of the configuration."""
        return self._catalogs

    def catalog(self, name: str) -> Catalog:
        """A configured catalog."""
        try:
            return self._catalogs[name]
        except KeyError:
            raise NotFound(f"there is no catalog named '{name}' in the configuration") from None

    @property
    def storages(self) -> Mapping[str, Storage]:
        """The configured storage, by name, in the order of the configuration."""
        return self._storage

    def storage(self, name: str) -> Storage | None:
        """The storage instance of a name, as in links; `None` if it is no longer configured."""
        return self._storage.get(name)

    def storage_for(self, location: str) -> tuple[str, Storage]:
        """Find the storage instance with the longest prefix of a location.

        Returns:
            The location in its canonical form (`s3a://` becomes `s3://`), and the instance.
        """
        canonical = canonical_location(location, self._spellings)
        for prefix, storage in self._by_prefix:
            if canonical.startswith(prefix) or canonical + "/" == prefix:
                return canonical, storage
        raise ConfigurationError(
            f"no configured storage serves {bucket_of(canonical)}: add it to 'storage:'",
            detail=location,
        )

    async def open_location(self, location: str) -> ObjectDirectory:
        """Open a location with its storage."""
        canonical, storage = self.storage_for(location)
        return await storage.open(canonical)

    def canonical(self, location: str) -> str:
        """The location in its canonical form, whether or not a storage serves it."""
        return canonical_location(location, self._spellings)

    def allows_absolute(self, location: str) -> bool:
        """Whether `absolute_paths` of the storage let logs of all tables refer to this directory."""
        return as_prefix(location).startswith(self._absolute)

    @property
    def formats(self) -> Mapping[str, TableFormat]:
        """The readers of table formats, by the value of `CatalogTable.format`."""
        return self._formats

    @property
    def authenticators(self) -> Sequence[Authenticator]:
        """The configured authenticators, in the order of the configuration."""
        return self._authenticators

    @property
    def policies(self) -> Mapping[str, Policy]:
        """The configured policies, by name, in the order of the configuration."""
        return self._policies

    def executor(
        self, entry: ConfiguredExecutor, snapshot_indexes: SnapshotIndexes | None = None
    ) -> TaskExecutor:
        """Build a task executor, which the caller must close. Only workers use executors."""
        owner = f"task executor '{entry.name}'"
        context = InstanceContext(
            entry.name, self.open_location, lambda: NoLinks(owner), snapshot_indexes
        )
        return _build(entry, entry.type.factory, context)

    async def aclose(self) -> None:
        """Close every instance, even if closing one fails. A second call does nothing."""
        if not self._open:
            return
        self._open = False
        failures: list[Exception] = []
        instances: list[Catalog | Storage | Authenticator | Policy] = [
            *self._catalogs.values(),
            *self._storage.values(),
            *self._authenticators,
            *self._policies.values(),
        ]
        for instance in instances:
            try:
                await instance.aclose()
            except Exception as error:
                failures.append(error)
        if failures:
            raise ExceptionGroup("instances failed to close", failures)

    def _authenticator(self, entry: ConfiguredAuthenticator) -> Authenticator:
        context = self._context(entry.name, f"authenticator '{entry.name}'")
        built = _build(entry, entry.type.factory, context)
        check_authenticator(entry.name, entry.type.name, built)
        return built

    def _storage_context(self, entry: ConfiguredStorage) -> InstanceContext:
        return InstanceContext(entry.name, self.open_location, lambda: self._links(entry.name))

    def _context(self, name: str, owner: str) -> InstanceContext:
        return InstanceContext(name, self.open_location, lambda: NoLinks(owner))


_Configured = (
    ConfiguredCatalog
    | ConfiguredStorage
    | ConfiguredAuthenticator
    | ConfiguredPolicy
    | ConfiguredExecutor
)


def _build(
    entry: _Configured,
    factory: Callable[[Any, InstanceContext], Instance],
    context: InstanceContext,
) -> Instance:
    try:
        return factory(entry.config, context)
    except SluicegateError as error:
        message = f"'{entry.name}' (type {entry.type.name}): {error.message}"
        raise ConfigurationError(message, detail=error.detail) from error
    except Exception as error:
        raise ConfigurationError(
            f"'{entry.name}' (type {entry.type.name}) cannot be built: {_reason(error, factory)}"
        ) from error


def _reason(error: Exception, factory: Callable[..., object]) -> str:
    """Why a factory failed."""
    missing = sorted(getattr(factory, "__abstractmethods__", ()))
    if isinstance(error, TypeError) and missing:
        return f"{factory.__name__} does not implement {', '.join(missing)}"
    return failure_reason(error)
