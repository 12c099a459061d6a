"""Checks the sections of plugins by the plugins' own models, with the place of every problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sluicegate.api import (
    AuthenticatorType,
    CatalogConfig,
    CatalogType,
    PluginConfig,
    PolicyType,
    StorageConfig,
    StorageType,
    TaskExecutorType,
)
from sluicegate.config import PluginSection, Settings
from sluicegate.config.secrets import exposed_secrets
from sluicegate.errors import ConfigurationError
from sluicegate.registry.locations import Spelling, as_prefix, canonical_location, spellings_of
from sluicegate.registry.realm_checks import realm_problems
from sluicegate.registry.registry import Registry
from sluicegate.yamlfile import Location, nearest, validate

Type = TypeVar("Type", CatalogType, StorageType, AuthenticatorType, PolicyType, TaskExecutorType)
NumberedType = TypeVar("NumberedType", AuthenticatorType, PolicyType, TaskExecutorType)
Config = TypeVar("Config", bound=PluginConfig)


@dataclass(frozen=True, slots=True)
class ConfiguredCatalog:
    """An entry of `catalogs:`, checked."""

    name: str
    type: CatalogType
    config: CatalogConfig


@dataclass(frozen=True, slots=True)
class ConfiguredStorage:
    """An entry of `storage:`, checked.

    Attributes:
        name: Its type and its number among the entries of that type: `s3-1`. Adding storage at the
            end of the list renames none, so links that carry the name stay good.
        config: Its locations have their scheme's canonical spelling, and a slash at the end.
    """

    name: str
    type: StorageType
    config: StorageConfig


@dataclass(frozen=True, slots=True)
class ConfiguredAuthenticator:
    """An entry of `authentication.authenticators:`, checked.

    Attributes:
        name: Its type and its number among the entries of that type.
    """

    name: str
    type: AuthenticatorType
    config: PluginConfig


@dataclass(frozen=True, slots=True)
class ConfiguredPolicy:
    """An entry of `policies:`, checked.

    Attributes:
        name: Its type and its number among the entries of that type.
    """

    name: str
    type: PolicyType
    config: PluginConfig


@dataclass(frozen=True, slots=True)
class ConfiguredExecutor:
    """An entry of `delegation.executors:`, checked.

    Attributes:
        name: Its type and its number among the entries of that type.
    """

    name: str
    type: TaskExecutorType
    config: PluginConfig


@dataclass(frozen=True, slots=True)
class ConfiguredInstances:
    """Every instance that the configuration asks for."""

    catalogs: tuple[ConfiguredCatalog, ...]
    storage: tuple[ConfiguredStorage, ...]
    authenticators: tuple[ConfiguredAuthenticator, ...]
    policies: tuple[ConfiguredPolicy, ...] = ()
    executors: tuple[ConfiguredExecutor, ...] = ()

    @property
    def operations(self) -> frozenset[str]:
        """The operations that the task executors run."""
        return frozenset(operation for each in self.executors for operation in each.type.operations)


def configure(settings: Settings, registry: Registry) -> ConfiguredInstances:
    """Check the sections of all plugins; nothing is opened.

    Raises:
        ConfigurationError: One line `file:line:column: message` for each problem.
    """
    checker = _Checker(settings)
    configured = ConfiguredInstances(
        tuple(checker.catalogs(registry.catalog_types())),
        tuple(checker.storage(registry.storage_types())),
        tuple(checker.authenticators(registry.authenticator_types())),
        tuple(checker.policies(registry.policy_types())),
        tuple(checker.executors(registry.task_executor_types())),
    )
    checker.problems.extend(realm_problems(settings, configured.executors))
    if checker.problems:
        raise ConfigurationError("\n".join(checker.problems))
    return configured


class _Checker:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.problems: list[str] = []

    def catalogs(self, types: Mapping[str, CatalogType]) -> Iterator[ConfiguredCatalog]:
        for name, section in self._settings.catalogs.items():
            location: Location = ("catalogs", name)
            known = self._type(section, types, "catalog", location)
            config = known and self._config(section, known.config, location)
            if known and config:
                yield ConfiguredCatalog(name, known, config)

    def storage(self, types: Mapping[str, StorageType]) -> Iterator[ConfiguredStorage]:
        numbers: Counter[str] = Counter()
        prefixes = _Prefixes(spellings_of(types.values()))
        for index, section in enumerate(self._settings.storage):
            location: Location = ("storage", index)
            known = self._type(section, types, "storage", location)
            config = known and self._config(section, known.config, location)
            if known and config:
                numbers[known.name] += 1
                canonical = prefixes.canonical(config.prefix)
                self._note((*location, "prefix"), prefixes.refuse(canonical, known))
                allowed = tuple(prefixes.canonical(each) for each in config.absolute_paths)
                self._note_outsiders((*location, "absolute_paths"), allowed, canonical)
                spelled = {"prefix": canonical, "absolute_paths": allowed}
                name = f"{known.name}-{numbers[known.name]}"
                yield ConfiguredStorage(name, known, config.model_copy(update=spelled))

    def authenticators(
        self, types: Mapping[str, AuthenticatorType]
    ) -> Iterator[ConfiguredAuthenticator]:
        place: Location = ("authentication", "authenticators")
        sections = self._settings.authentication.authenticators
        for _, name, known, config in self._numbered(sections, types, "authenticator", place):
            yield ConfiguredAuthenticator(name, known, config)

    def policies(self, types: Mapping[str, PolicyType]) -> Iterator[ConfiguredPolicy]:
        sections = self._settings.policies
        for _, name, known, config in self._numbered(sections, types, "policy", ("policies",)):
            yield ConfiguredPolicy(name, known, config)

    def executors(self, types: Mapping[str, TaskExecutorType]) -> Iterator[ConfiguredExecutor]:
        owners: dict[str, str] = {}
        place: Location = ("delegation", "executors")
        sections = self._settings.delegation.executors
        numbered = self._numbered(sections, types, "task executor", place)
        for location, name, known, config in numbered:
            for operation in known.operations:
                if owners.setdefault(operation, name) != name:
                    problem = f"operation '{operation}' is run by '{owners[operation]}' already"
                    self._note((*location, "type"), problem)
            yield ConfiguredExecutor(name, known, config)

    def _numbered(
        self,
        sections: Sequence[PluginSection],
        types: Mapping[str, NumberedType],
        kind: str,
        place: Location,
    ) -> Iterator[tuple[Location, str, NumberedType, PluginConfig]]:
        """The sections of a list that are right: where each is, and its name, such as `own-1`."""
        numbers: Counter[str] = Counter()
        for index, section in enumerate(sections):
            location: Location = (*place, index)
            known = self._type(section, types, kind, location)
            config = known and self._config(section, known.config, location)
            if known and config:
                numbers[known.name] += 1
                yield location, f"{known.name}-{numbers[known.name]}", known, config

    def _type(
        self, section: PluginSection, types: Mapping[str, Type], kind: str, location: Location
    ) -> Type | None:
        found = types.get(section.type)
        if found is None:
            hint = nearest(section.type, sorted(types))
            self._note((*location, "type"), f"plugin '{section.type}' offers no {kind}{hint}")
        return found

    def _config(self, section: PluginSection, model: type[Config], location: Location) -> Config | None:
        source = self._settings.source
        document = replace(source.document.section(*location), data=section.options)
        try:
            config = validate(model, document)
        except ConfigurationError as error:
            self.problems.extend(error.message.splitlines())
            return None
        self.problems.extend(exposed_secrets(config, source, location))
        return config

    def _note_outsiders(self, location: Location, places: Sequence[str], prefix: str) -> None:
        for number, each in enumerate(places):
            if not each.startswith(prefix):
                problem = f"'{each}' does not lie in this storage, {prefix}"
                self._note((*location, number), problem)

    def _note(self, location: Location, problem: str | None) -> None:
        if problem is not None:
            self.problems.append(self._settings.problem(location, problem))


class _Prefixes:
    """The prefixes so far, each served by one entry."""

    def __init__(self, spellings: Mapping[str, Spelling]) -> None:
        self._spellings = spellings
        self._seen: set[str] = set()

    def canonical(self, prefix: str) -> str:
        """The prefix in the one spelling of its scheme, with a slash at its end."""
        return as_prefix(canonical_location(prefix, self._spellings))

    def refuse(self, prefix: str, storage: StorageType) -> str | None:
        """What is wrong with one more canonical prefix."""
        scheme, separator, _ = prefix.partition("://")
        if not separator or scheme not in storage.schemes:
            schemes = " or ".join(f"{known}://" for known in storage.schemes)
            return f"storage '{storage.name}' serves locations that start with {schemes}"
        if prefix in self._seen:
            return f"the prefix '{prefix}' is served by another entry already"
        self._seen.add(prefix)
        return None
