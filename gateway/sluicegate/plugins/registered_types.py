"""Collects everything that the loaded plugins register, and rejects conflicts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sluicegate.api import (
    AuthenticatorType,
    CatalogConfig,
    CatalogType,
    FormatType,
    Migration,
    PluginConfig,
    PolicyType,
    StorageConfig,
    StorageType,
    TaskExecutorType,
    TokenBinding,
)
from sluicegate.api.errors import ConfigurationError
from sluicegate.api.hadoop_tokens import BUILT_IN_KINDS
from sluicegate.plugins.loading.host import PluginHost, wrong_result
from sluicegate.plugins.loading.installed import InstalledPlugin

BUILT_IN_FORMATS = frozenset({"delta"})
BUILT_IN_CAPABILITIES = frozenset(
    {"responseformat", "readerfeatures", "includeendstreamaction", "asyncquery", "accessmode"}
)
_CAPABILITY_NAME = re.compile(r"[a-z0-9._-]+")
_CAPABILITY_VALUE = re.compile(r"[!-:<>-@\[-~]+")
_OPERATION = re.compile(r"(GET|POST|PUT|PATCH|DELETE) /.*")
_OPERATION_ID = re.compile(r"[A-Za-z0-9_-]+")
_BASES: Mapping[type, type] = {CatalogType: CatalogConfig, StorageType: StorageConfig}


class Named(Protocol):
    """The result of a `register_…` hook."""

    @property
    def name(self) -> str:
        """The name in the configuration."""


T = TypeVar("T", bound=Named)


@dataclass(frozen=True, slots=True)
class RegisteredTypes:
    """Everything that the loaded plugins registered, by name."""

    catalogs: Mapping[str, CatalogType]
    storage: Mapping[str, StorageType]
    formats: Mapping[str, FormatType]
    authenticators: Mapping[str, AuthenticatorType]
    policies: Mapping[str, PolicyType]
    task_executors: Mapping[str, TaskExecutorType]
    token_bindings: Mapping[str, TokenBinding]
    capabilities: Mapping[str, str]
    settings: Mapping[str, type[PluginConfig]]
    operations: Mapping[str, str]
    migrations: Mapping[str, Sequence[Migration]]


def collect_types(host: PluginHost) -> RegisteredTypes:
    """Call the `register_…` hooks of every loaded plugin."""
    return RegisteredTypes(
        catalogs=_collect(host, "sluicegate_register_catalogs", CatalogType),
        storage=_collect(host, "sluicegate_register_storage", StorageType),
        formats=_collect(host, "sluicegate_register_formats", FormatType),
        authenticators=_collect(host, "sluicegate_register_authenticators", AuthenticatorType),
        policies=_collect(host, "sluicegate_register_policies", PolicyType),
        task_executors=_collect(host, "sluicegate_register_task_executors", TaskExecutorType),
        token_bindings=_collect_token_bindings(host),
        capabilities=_collect_capabilities(host),
        settings=_collect_settings(host),
        operations=_collect_operations(host),
        migrations=_collect_migrations(host),
    )


def _collect(host: PluginHost, hook: str, kind: type[T]) -> dict[str, T]:
    found: dict[str, T] = {}
    owners: dict[str, InstalledPlugin] = {}
    for plugin in host.plugins:
        for registered in host.ask_each(plugin, hook):
            _check_kind(plugin, hook, registered, kind)
            name = registered.name
            if name in owners:
                raise ConfigurationError(
                    f"{hook}: '{name}' is registered by {owners[name]} and by {plugin}"
                )
            _check_name(plugin, hook, registered)
            found[name], owners[name] = registered, plugin
    return found


def _check_kind(plugin: InstalledPlugin, hook: str, registered: object, kind: type[T]) -> None:
    if not isinstance(registered, kind):
        answered = type(registered).__name__
        raise ConfigurationError(
            f"plugin {plugin}: {hook} returned a {answered}, not a {kind.__name__}"
        )
    base = _BASES.get(kind)
    config = getattr(registered, "config", None)
    if base and not (isinstance(config, type) and issubclass(config, base)):
        raise ConfigurationError(
            f"plugin {plugin}: {hook}: the configuration model has to be a {base.__name__}"
        )


def _check_name(plugin: InstalledPlugin, hook: str, registered: Named) -> None:
    """Check that a type has the name of its plugin. Formats have the names that tables use."""
    if isinstance(registered, FormatType):
        if registered.name in BUILT_IN_FORMATS:
            raise ConfigurationError(
                f"plugin {plugin}: format '{registered.name}' is the gateway's own"
            )
    elif registered.name != plugin.name:
        raise ConfigurationError(
            f"plugin {plugin}: {hook} registers '{registered.name}'; "
            "a type must have the name of its entry point"
        )


def _collect_token_bindings(host: PluginHost) -> dict[str, TokenBinding]:
    """Collect bindings. Hadoop selects the reader by the token's kind, so each kind has one binding."""
    hook = "sluicegate_register_token_bindings"
    found = _collect(host, hook, TokenBinding)  # type: ignore[type-abstract]
    kinds = {kind: f"the gateway's own binding '{name}'" for name, kind in BUILT_IN_KINDS.items()}
    for name, binding in found.items():
        if name in BUILT_IN_KINDS:
            raise ConfigurationError(f"{hook}: '{name}' is a built-in binding")
        if binding.kind in kinds:
            raise ConfigurationError(
                f"{hook}: tokens of kind {binding.kind} are created by {kinds[binding.kind]}, "
                f"and by '{name}'"
            )
        kinds[binding.kind] = f"'{name}'"
    return found


def _collect_settings(host: PluginHost) -> dict[str, type[PluginConfig]]:
    hook = "sluicegate_register_settings"
    found: dict[str, type[PluginConfig]] = {}
    for plugin in host.plugins:
        for model in host.ask(plugin, hook):
            if not (isinstance(model, type) and issubclass(model, PluginConfig)):
                raise ConfigurationError(
                    f"plugin {plugin}: {hook}: the model of its settings has to be a PluginConfig"
                )
            found[plugin.name] = model
    return found


def _collect_operations(host: PluginHost) -> dict[str, str]:
    hook = "sluicegate_register_operations"
    found: dict[str, str] = {}
    for plugin in host.plugins:
        for answer in host.ask(plugin, hook):
            if not isinstance(answer, Mapping):
                raise wrong_result(plugin, hook, answer, "a mapping")
            for route, operation in answer.items():
                if not (isinstance(route, str) and _OPERATION.fullmatch(route)):
                    raise ConfigurationError(
                        f"plugin {plugin}: {hook}: a key must be a method and a path, "
                        "such as 'GET /acme'"
                    )
                owner, _, name = str(operation).rpartition(".")
                if owner != plugin.name or not _OPERATION_ID.fullmatch(name):
                    raise ConfigurationError(
                        f"plugin {plugin}: {hook}: the operation of {route} must be '{plugin.name}.' "
                        "and a name of letters, digits, '_' and '-'"
                    )
                found[route] = operation
    return found


def _collect_migrations(host: PluginHost) -> dict[str, Sequence[Migration]]:
    hook = "sluicegate_register_migrations"
    found: dict[str, Sequence[Migration]] = {}
    for plugin in host.plugins:
        migrations = host.ask_each(plugin, hook)
        for migration in migrations:
            _check_kind(plugin, hook, migration, Migration)
        names = [migration.name for migration in migrations]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise ConfigurationError(f"plugin {plugin}: {hook}: '{repeated}' occurs twice")
        if migrations:
            found[plugin.name] = tuple(migrations)
    return found


def _collect_capabilities(host: PluginHost) -> dict[str, str]:
    hook = "sluicegate_register_capabilities"
    capabilities: dict[str, str] = {}
    for plugin in host.plugins:
        for answer in host.ask(plugin, hook):
            if not isinstance(answer, Mapping):
                raise wrong_result(plugin, hook, answer, "a mapping")
            for name, value in answer.items():
                problem = _capability_problem(name, value, capabilities)
                if problem is not None:
                    raise ConfigurationError(f"plugin {plugin}: capability '{name}' {problem}")
                capabilities[name] = value
    return capabilities


def _capability_problem(name: object, value: object, known: Collection[str]) -> str | None:
    """Why a capability is not allowed in the header, in which clients look for lower-case text."""
    if not (isinstance(name, str) and isinstance(value, str)):
        return "must be a text with a text as its value"
    if not _CAPABILITY_NAME.fullmatch(name):
        return "must be spelled with a-z, 0-9, '.', '_' and '-'"
    if name in BUILT_IN_CAPABILITIES:
        return "is the gateway's own"
    if name in known:
        return "is already registered"
    if not _CAPABILITY_VALUE.fullmatch(value):
        return "must have a value of lower-case printable characters without ';', '=' and spaces"
    return None
