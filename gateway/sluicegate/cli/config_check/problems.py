"""Finds all problems of a configuration file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.config_check.plugins import check_plugins
from sluicegate.cli.config_check.settings import CheckedSettings, check_settings
from sluicegate.config import Settings

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
