"""Loads the console, which needs the extra `sluicegate[console]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from sluicegate._util.lazy import Lazy
from sluicegate.api import ConsolePage
from sluicegate.api.errors import ConfigurationError
from sluicegate.protocols.parts import GatewayParts

if TYPE_CHECKING:
    from sluicegate.admin.assembly import AdminApi
    from sluicegate.admin.console.assembly import Console
    from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.who_can import WhoCan


def console_routes(
    parts: GatewayParts,
    admin: AdminApi,
    pipeline: Lazy[QueryPipeline],
    explanations: Callable[[], tuple[Explainer, WhoCan]],
    pages: Mapping[str, Sequence[ConsolePage]],
) -> list[BaseRoute]:
    """The routes of the console of a gateway, with pages by the names of the plugins that add them.

    There are none without a section `console`.
    """
    settings = parts.settings
    if settings.admin is None or settings.console is None:
        return []
    console = load_console()
    sections = settings.admin, settings.console
    return console(parts, admin, *sections, pipeline, explanations, pages).routes()


def load_console() -> type[Console]:
    """Load the console."""
    try:
        from sluicegate.admin.console.assembly import Console
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"console is set, but the Python module {error.name} is missing: "
            "pip install 'sluicegate[console]', or remove console"
        ) from error
    return Console
