"""The configured instances: catalogs by name, storage by location, formats, and who lets in whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sluicegate.api import (
    Authenticator,
    Catalog,
    FormatType,
    LinkSigner,
    ObjectDirectory,
    PluginContext,
    Policy,
    Storage,
    TableFormat,
    TaskExecutor,
)
from sluicegate.errors import ConfigurationError, NotFound, SluicegateError
from sluicegate.late import LateMapping
from sluicegate.registry.contexts import InstanceContext, NoLinks
from sluicegate.registry.locations import (
    as_prefix,
    bucket_of,
    canonical_location,
    spellings_of,
)
from sluicegate.registry.registry import Registry
from sluicegate.registry.sections import (
    ConfiguredAuthenticator,
    ConfiguredCatalog,
    ConfiguredExecutor,
    ConfiguredInstances,
    ConfiguredPolicy,
    ConfiguredStorage,
)

Instance = TypeVar("Instance")


class Instances:
    """Builds every configured instance once, and closes them at the end.

    Args:
        registry: The loaded plugins.
        configured: The checked sections of plugins.
        links: Makes the signer of one storage instance's links, given its name.
        formats: The gateway's own table formats, beside those that plugins register.
        guard: Puts something between requests and a configured catalog.

    Raises:
        ConfigurationError: A plugin cannot build an instance from its section.
    """

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
        self._spellings = spellings_of(registry.storage_types().values())
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
            _build(
                entry, entry.type.factory, self._context(entry.name, f"authenticator '{entry.name}'")
            )
            for entry in configured.authenticators
        ]
        self._policies: Mapping[str, Policy] = {
            entry.name: _build(
                entry, entry.type.factory, self._context(entry.name, f"policy '{entry.name}'")
            )
            for entry in configured.policies
        }
        types = {known.name: known for known in (*formats, *registry.format_types().values())}
        self._formats = LateMapping({name: known.factory for name, known in types.items()})
        for name in registry.format_types():
            self._formats[name]  # a plugin's format that cannot be built refuses the start
        self._open = True

    @property
    def catalogs(self) -> Mapping[str, Catalog]:
        """The configured catalogs, by name, in the order of the configuration."""
        return self._catalogs

    def catalog(self, name: str) -> Catalog:
        """A configured catalog.

        Raises:
            NotFound: The configuration names no such catalog (any more).
        """
        try:
            return self._catalogs[name]
        except KeyError:
            raise NotFound(f"there is no catalog named '{name}' in the configuration") from None

    @property
    def storages(self) -> Mapping[str, Storage]:
        """The configured storage, by name, in the order of the configuration."""
        return self._storage

    def storage(self, name: str) -> Storage | None:
        """The storage instance of a name, for links that carry it; `None` if there is none any more."""
        return self._storage.get(name)

    def storage_for(self, location: str) -> tuple[str, Storage]:
        """Who serves a location: the instance with the longest prefix of it.

        Returns:
            The location in its canonical spelling (`s3a://` becomes `s3://`), and the instance.

        Raises:
            ConfigurationError: No configured storage serves the location.
        """
        canonical = canonical_location(location, self._spellings)
        for prefix, storage in self._by_prefix:
            if canonical.startswith(prefix) or canonical + "/" == prefix:
                return canonical, storage
        raise ConfigurationError(
            f"no configured storage serves {bucket_of(canonical)}: add it to 'storage:'",
            detail=location,
        )

    def canonical(self, location: str) -> str:
        """The location in the one spelling of its scheme, whether or not a storage serves it."""
        return canonical_location(location, self._spellings)

    def allows_absolute(self, location: str) -> bool:
        """Whether any table's log may name files in this directory, by the storage's `absolute_paths`.

        Args:
            location: In its canonical spelling.
        """
        return as_prefix(location).startswith(self._absolute)

    @property
    def formats(self) -> Mapping[str, TableFormat]:
        """The readers of table formats, by the name that `CatalogTable.format` has."""
        return self._formats

    @property
    def authenticators(self) -> Sequence[Authenticator]:
        """The configured authenticators, in the order of the configuration."""
        return self._authenticators

    @property
    def policies(self) -> Mapping[str, Policy]:
        """The configured policies, by name, in the order of the configuration."""
        return self._policies

    def executor(self, entry: ConfiguredExecutor) -> TaskExecutor:
        """Build a task executor; whoever asks closes it. Only workers have any.

        Raises:
            ConfigurationError: The plugin cannot build it from its section.
        """
        context = self._context(entry.name, f"task executor '{entry.name}'")
        return _build(entry, entry.type.factory, context)

    async def aclose(self) -> None:
        """Close every instance, also when one of them fails at it; a second call does nothing."""
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

    def _storage_context(self, entry: ConfiguredStorage) -> PluginContext:
        return InstanceContext(entry.name, self._open_location, lambda: self._links(entry.name))

    def _context(self, name: str, owner: str) -> PluginContext:
        return InstanceContext(name, self._open_location, lambda: NoLinks(owner))

    async def _open_location(self, location: str) -> ObjectDirectory:
        canonical, storage = self.storage_for(location)
        return await storage.open(canonical)


_Configured = (
    ConfiguredCatalog
    | ConfiguredStorage
    | ConfiguredAuthenticator
    | ConfiguredPolicy
    | ConfiguredExecutor
)


def _build(
    entry: _Configured,
    factory: Callable[[Any, PluginContext], Instance],
    context: PluginContext,
) -> Instance:
    try:
        return factory(entry.config, context)
    except SluicegateError as error:
        message = f"'{entry.name}' (type {entry.type.name}): {error.message}"
        raise ConfigurationError(message, detail=error.detail) from error
    except Exception as error:
        # The kind alone: what a library says may hold the section's secrets.
        raise ConfigurationError(
            f"'{entry.name}' (type {entry.type.name}) cannot be built: {type(error).__name__}"
        ) from error
