"""Validates the sections of plugins, also if some of the plugins cannot be loaded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.config_check.sections import contains, without
from sluicegate.cli.config_check.settings import PLUGIN_LISTS, UNKNOWN, CheckedSettings
from sluicegate.config import PluginSection, Settings
from sluicegate.config.yaml import Location
from sluicegate.plugins import Registry, configure

_DELEGATION = "delegation"
# Grants and schedules name operations and catalogs of executors.
_DEPENDENT: tuple[Location, ...] = ((_DELEGATION, "realms"), (_DELEGATION, "schedules"))


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
        checked.warnings += configure(settings, Registry.load(usable)).warnings
    except ConfigurationError as error:
        checked.add(error.message.splitlines())


def _without_consequences(
    settings: Settings, usable: Collection[str], checked: CheckedSettings
) -> Settings:
    """Ignore what is wrong only because a plugin cannot be loaded."""
    broken = [place for place, section in _sections(settings) if section.type not in usable]
    checked.ignored += tuple(settings.problem((*place, "type"), "") for place in broken)
    present = [place for place in _DEPENDENT if contains(settings.source, place)]
    if not any(place[0] == _DELEGATION for place in broken) or not present:
        return settings
    source = settings.source
    for place in present:
        source = without(source, place)
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
