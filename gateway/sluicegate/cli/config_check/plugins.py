"""Validates the sections of plugins, also if some of the plugins cannot be loaded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.config_check.sections import contains, without
from sluicegate.cli.config_check.settings import PLUGIN_LISTS, UNKNOWN, CheckedSettings
from sluicegate.config import PluginSection, Settings
from sluicegate.config.yaml import Location
from sluicegate.plugins import Registry, configure

# Grants of these depend on executors.
_GRANTS: Location = ("delegation", "realms")


def check_plugins(settings: Settings, checked: CheckedSettings) -> None:
    """Load each enabled plugin, and validate the sections of those that can be loaded."""
    usable = []
    for name, location in settings.mentions().items():
        try:
            if name != UNKNOWN:
                Registry.load([name])
                usable.append(name)
        except ConfigurationError as error:
            checked.add([settings.problem(location, line) for line in error.message.splitlines()])
    settings = _without_consequences(settings, usable, checked)
    try:
        configure(settings, Registry.load(usable))
    except ConfigurationError as error:
        checked.add(error.message.splitlines())


def _without_consequences(
    settings: Settings, usable: Collection[str], checked: CheckedSettings
) -> Settings:
    """Ignore what is wrong only because a plugin cannot be loaded."""
    broken = [place for place, section in _sections(settings) if section.type not in usable]
    checked.ignored += tuple(settings.problem((*place, "type"), "") for place in broken)
    if not any(place[0] == _GRANTS[0] for place in broken) or not contains(settings.source, _GRANTS):
        return settings
    source = without(settings.source, _GRANTS)
    return Settings.model_validate(source.document.data).read_from(source)


def _sections(settings: Settings) -> Iterator[tuple[Location, PluginSection]]:
    yield from ((("catalogs", name), each) for name, each in settings.catalogs.items())
    lists: tuple[Sequence[PluginSection], ...] = (
        settings.plugins,
        settings.storage,
        settings.authentication.authenticators,
        settings.policies,
        settings.delegation.executors,
    )
    for place, sections in zip(PLUGIN_LISTS, lists, strict=True):
        yield from (((*place, index), each) for index, each in enumerate(sections))
