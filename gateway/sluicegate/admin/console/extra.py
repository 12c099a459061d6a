"""Loads the console, which needs the extra `sluicegate[console]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from sluicegate.api.errors import ConfigurationError

if TYPE_CHECKING:
    from sluicegate.admin.assembly import AdminApi
    from sluicegate.admin.console.assembly import Console, ConsoleParts


def console_routes(gateway: ConsoleParts, admin: AdminApi) -> list[BaseRoute]:
    """The routes of the console of a gateway; none if it has no section `console`.

    Raises:
        ConfigurationError: The extra is not installed.
    """
    settings = gateway.settings
    if settings.admin is None or settings.console is None:
        return []
    return load_console()(gateway, admin, settings.admin, settings.console).routes()


def load_console() -> type[Console]:
    """Load the console.

    Raises:
        ConfigurationError: The extra is not installed.
    """
    try:
        from sluicegate.admin.console.assembly import Console
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"console is set, but the Python module {error.name} is missing: "
            "pip install 'sluicegate[console]', or remove console"
        ) from error
    return Console
