"""Validates the sections of plugins with the plugins' models, and reports where each problem is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sluicegate.api import (
    AuthenticatorType,
    CatalogType,
    PluginConfig,
    PolicyType,
    StorageType,
    TaskExecutorType,
)
from sluicegate.api.errors import ConfigurationError
from sluicegate.config import PluginSection, Settings
from sluicegate.config.deprecated_keys import without_removed_keys
from sluicegate.config.secrets import exposed_secrets
from sluicegate.config.yaml import Location, nearest, validate
from sluicegate.plugins.checks.delegation import realm_problems, schedule_problems
from sluicegate.plugins.configured import (
    Configured,
    ConfiguredAuthenticator,
    ConfiguredCatalog,
    ConfiguredExecutor,
    ConfiguredInstances,
    ConfiguredPolicy,
    ConfiguredStorage,
)
from sluicegate.plugins.hooks import Registry
from sluicegate.plugins.locations import Spelling, as_prefix, canonical_location, spellings_of

Type = TypeVar("Type", CatalogType, StorageType, AuthenticatorType, PolicyType, TaskExecutorType)
NumberedType = TypeVar("NumberedType", AuthenticatorType, PolicyType, TaskExecutorType)
Config = TypeVar("Config", bound=PluginConfig)


def configure(settings: Settings, registry: Registry) -> ConfiguredInstances:
    """Validate the sections of all plugins without opening anything."""
    checker = _Checker(settings)
    configured = ConfiguredInstances(
        tuple(checker.catalogs(registry.types.catalogs)),
        tuple(checker.storage(registry.types.storage)),
        tuple(checker.authenticators(registry.types.authenticators)),
        tuple(checker.policies(registry.types.policies)),
        tuple(checker.executors(registry.types.task_executors)),
        dict(checker.plugins(registry.types.settings)),
        tuple(checker.warnings),
    )
    checker.problems.extend(realm_problems(settings, configured.executors))
    checker.problems.extend(schedule_problems(settings, configured.executors))
    if checker.problems:
        raise ConfigurationError("\n".join(checker.problems))
    return configured


def plugin_settings(settings: Settings, registry: Registry) -> Mapping[str, PluginConfig]:
    """Validate only the settings of plugins, by the plugin's name."""
    checker = _Checker(settings)
    found = dict(checker.plugins(registry.types.settings))
    if checker.problems:
        raise ConfigurationError("\n".join(checker.problems))
    return found


class _Checker:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.problems: list[str] = []
        self.warnings: list[str] = []

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
        return (entry for _, entry in self._numbered(sections, types, "authenticator", place))

    def policies(self, types: Mapping[str, PolicyType]) -> Iterator[ConfiguredPolicy]:
        sections = self._settings.policies
        return (entry for _, entry in self._numbered(sections, types, "policy", ("policies",)))

    def executors(self, types: Mapping[str, TaskExecutorType]) -> Iterator[ConfiguredExecutor]:
        owners: dict[str, str] = {}
        place: Location = ("delegation", "executors")
        sections = self._settings.delegation.executors
        for location, entry in self._numbered(sections, types, "task executor", place):
            for operation in entry.type.operations:
                if owners.setdefault(operation, entry.name) != entry.name:
                    problem = f"operation '{operation}' is run by '{owners[operation]}' already"
                    self._note((*location, "type"), problem)
            yield entry

    def plugins(self, models: Mapping[str, type[PluginConfig]]) -> Iterator[tuple[str, PluginConfig]]:
        listed: dict[str, PluginSection] = {}
        for index, section in enumerate(self._settings.plugins):
            location: Location = ("plugins", index)
            if section.type in listed:
                self._note(location, self._repeated(section.type, location))
            elif section.options and section.type not in models:
                problem = f"the plugin '{section.type}' has no settings; write its name alone"
                self._note(location, problem)
            listed.setdefault(section.type, section)
        mentions = self._settings.mentions()  # in which `plugins:` comes first
        for name, model in models.items():
            section = listed.get(name) or PluginSection(type=name)
            config = self._config(section, model, mentions.get(name, ()))
            if config:
                yield name, config

    def _repeated(self, plugin: str, location: Location) -> str:
        """Why a plugin that an earlier entry of `plugins:` enables has another one."""
        if tuple(map(str, location)) in self._settings.source.document.written:
            return (
                f"the plugin '{plugin}' has this section and an entry of 'plugins'; remove one of them"
            )
        return f"the plugin '{plugin}' is listed twice"

    def _numbered(
        self,
        sections: Sequence[PluginSection],
        types: Mapping[str, NumberedType],
        kind: str,
        place: Location,
    ) -> Iterator[tuple[Location, Configured[NumberedType, PluginConfig]]]:
        """The valid sections of a list, each with its location; they have names such as `own-1`."""
        numbers: Counter[str] = Counter()
        for index, section in enumerate(sections):
            location: Location = (*place, index)
            known = self._type(section, types, kind, location)
            config = known and self._config(section, known.config, location)
            if known and config:
                numbers[known.name] += 1
                yield location, Configured(f"{known.name}-{numbers[known.name]}", known, config)

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
        document, warnings = without_removed_keys(model, document)
        self.warnings.extend(warnings)
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
                problem = f"'{each}' is not in this storage, {prefix}"
                self._note((*location, number), problem)

    def _note(self, location: Location, problem: str | None) -> None:
        if problem is not None:
            self.problems.append(self._settings.problem(location, problem))


class _Prefixes:
    """The prefixes of the entries so far. Each prefix belongs to one entry."""

    def __init__(self, spellings: Mapping[str, Spelling]) -> None:
        self._spellings = spellings
        self._seen: set[str] = set()

    def canonical(self, prefix: str) -> str:
        """The canonical form of the prefix, with a trailing slash."""
        return as_prefix(canonical_location(prefix, self._spellings))

    def refuse(self, prefix: str, storage: StorageType) -> str | None:
        """Describe the problem with another canonical prefix, or return `None`."""
        scheme, separator, _ = prefix.partition("://")
        if not separator or scheme not in storage.schemes:
            schemes = " or ".join(f"{known}://" for known in storage.schemes)
            return f"storage '{storage.name}' serves locations that start with {schemes}"
        if prefix in self._seen:
            return f"the prefix '{prefix}' is served by another entry already"
        self._seen.add(prefix)
        return None
