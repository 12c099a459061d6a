"""Finds all problems of a configuration file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.config_check.settings import (
    PLUGIN_LISTS,
    UNKNOWN,
    CheckedSettings,
    check_settings,
    contains,
    without,
)
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


_PLACE = re.compile(r"(?P<file>.+?):(?P<line>[0-9]+):(?P<column>[0-9]+): (?P<message>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """A problem, with its position from 1; 0 if the problem has none."""

    line: int
    column: int
    message: str
    text: str


def find_problems(path: Path) -> tuple[list[ConfigProblem], tuple[str, ...]]:
    """Check a file without opening the database, keys or catalogs.

    Returns:
        All problems in the order of the file, and the warnings about deprecated keys.
    """
    checked = check_settings(path)
    if checked.settings is not None:
        _check_database(checked.settings, checked)
        check_plugins(checked.settings, checked)
        _check_extras(checked.settings, checked)
    problems = [_parsed(line) for line in checked.problems]
    return sorted(problems, key=lambda each: (each.line, each.column)), checked.warnings


def _check_database(settings: Settings, checked: CheckedSettings) -> None:
    from sluicegate.database.urls import DatabaseUrl
    from sluicegate.signing.load import signing_key_path

    try:
        DatabaseUrl.parse(settings.database.get_secret_value())
        if settings.signing_key is None:
            signing_key_path(settings)
    except ConfigurationError as error:
        checked.add([settings.problem(("database",), error.message)])


def _check_extras(settings: Settings, checked: CheckedSettings) -> None:
    if settings.console is None:
        return
    from sluicegate.admin.console.extra import load_console

    try:
        load_console()
    except ConfigurationError as error:
        checked.add([settings.problem(("console",), error.message)])


def _parsed(text: str) -> ConfigProblem:
    found = _PLACE.fullmatch(text)
    if found is None:
        return ConfigProblem(0, 0, text, text)
    return ConfigProblem(int(found["line"]), int(found["column"]), found["message"], text)
