"""Checks that the gateway supports the version of the plugin API that a plugin is written for.

The rules are in docs/plugins/compatibility.md.
"""

from __future__ import annotations

import ast
import re
from importlib.metadata import EntryPoint
from importlib.util import find_spec

from sluicegate import __version__
from sluicegate.api import API_VERSION
from sluicegate.api.errors import ConfigurationError
from sluicegate.plugins.loading.installed import InstalledPlugin

NAME = "sluicegate_api_version"
_VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")


def declared_version(entry_point: EntryPoint) -> object:
    """Return the constant `sluicegate_api_version` of a plugin's module without running the module.

    A plugin for a newer API usually fails to import, so the constant is read from the source.

    Returns:
        The constant, or `None` if the module has none or its source cannot be read.
    """
    try:
        # Imports the parent packages of the module, which plugins keep empty.
        spec = find_spec(entry_point.module)
        source = getattr(spec and spec.loader, "get_source", lambda name: None)(entry_point.module)
        body = ast.parse(source or "").body
    except Exception:
        return None  # importing the module also fails, and reports why
    for statement in body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if NAME in names and isinstance(value, ast.Constant):
            return value.value
    return None


def check_version(plugin: InstalledPlugin, declared: object) -> None:
    """Check that this gateway supports the API version that a plugin is written for."""
    wanted = _parsed("1.0" if declared is None else declared)
    if wanted is None:
        raise ConfigurationError(
            f"plugin {plugin}: {NAME} must be a text such as '{API_VERSION}', not {declared!r}"
        )
    offered = _parsed(API_VERSION)
    assert offered is not None  # noqa: S101 (a constant of this package)
    if wanted > offered:
        raise ConfigurationError(
            f"plugin {plugin} needs the plugin API {declared}, and this gateway (sluicegate "
            f"{__version__}) offers {API_VERSION}: upgrade sluicegate, or install an "
            f"older version of {plugin.distribution}"
        )
    if wanted[0] < offered[0]:
        raise ConfigurationError(
            f"plugin {plugin} is written for the plugin API {wanted[0]}.{wanted[1]}, and this gateway "
            f"(sluicegate {__version__}) offers {API_VERSION}: upgrade "
            f"{plugin.distribution}, or install an older version of sluicegate"
        )


def import_hint(plugin: InstalledPlugin, error: BaseException) -> str:
    """Return a hint for a plugin that imports a name that the API lacks; empty for other errors."""
    module = getattr(error, "name", None) if isinstance(error, ImportError) else None
    if module is None or module.partition(".")[0] != "sluicegate":
        return ""
    return (
        f"; it imports a name that the plugin API {API_VERSION} of this gateway does not have: "
        f"upgrade sluicegate and {plugin.distribution} to versions that belong together"
    )


def _parsed(version: object) -> tuple[int, int] | None:
    found = _VERSION.fullmatch(version) if isinstance(version, str) else None
    return None if found is None else (int(found[1]), int(found[2]))
