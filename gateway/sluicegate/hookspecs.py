"""Every hook of the gateway. The docstrings are the reference pages of the plugin guide.

The prefix of a name tells how a hook is called: `register_…` once at start-up, returning types;
`wrap_…` composes; `on_…` notifies. Work per request never is a hook call: it is a method of an
instance that a registered type built.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import pluggy

from sluicegate.api import (
    AuthenticatorType,
    CatalogType,
    Event,
    FormatType,
    PolicyType,
    StorageType,
    TaskExecutorType,
    TokenBinding,
)

if TYPE_CHECKING:
    import click
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

    from sluicegate.app import Gateway

__all__ = ["hookspec"]

hookspec = pluggy.HookspecMarker("sluicegate")


@hookspec
def sluicegate_register_catalogs() -> Sequence[CatalogType]:  # type: ignore[empty-body]
    """Kinds of catalogs: where tables come from. Each name is a `type` under `catalogs:`."""


@hookspec
def sluicegate_register_storage() -> Sequence[StorageType]:  # type: ignore[empty-body]
    """Kinds of storage: what presigns, opens and vends. Each name is a `type` under `storage:`."""


@hookspec
def sluicegate_register_formats() -> Sequence[FormatType]:  # type: ignore[empty-body]
    """Table formats beside Delta, which the core reads itself."""


@hookspec
def sluicegate_register_authenticators() -> Sequence[AuthenticatorType]:  # type: ignore[empty-body]
    """Ways to recognise a recipient beside the gateway's own bearer tokens."""


@hookspec
def sluicegate_register_policies() -> Sequence[PolicyType]:  # type: ignore[empty-body]
    """Policies that narrow what granted recipients may do."""


@hookspec
def sluicegate_register_capabilities() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Keys and values that the plugin adds to the `delta-sharing-capabilities` response header."""


@hookspec
def sluicegate_register_task_executors() -> Sequence[TaskExecutorType]:  # type: ignore[empty-body]
    """Executors of the delegation service, and the operation types that they run."""


@hookspec
def sluicegate_register_token_bindings() -> Sequence[TokenBinding]:  # type: ignore[empty-body]
    """Kinds of Hadoop delegation tokens beside session, role and full, for tables in S3."""


@hookspec
def sluicegate_register_routes(gateway: Gateway) -> Sequence[BaseRoute]:  # type: ignore[empty-body]
    """Starlette routes to serve beside the gateway's own."""


@hookspec
def sluicegate_register_commands(cli: click.Group) -> None:
    """Add commands to the `sluicegate` command."""


@hookspec
def sluicegate_wrap_app(app: ASGIApp, config: Mapping[str, Any]) -> ASGIApp:  # type: ignore[empty-body]
    """Wrap the ASGI application; plugins are asked in the order of the configuration's `plugins:`."""


@hookspec
def sluicegate_lifespan(gateway: Gateway) -> AbstractAsyncContextManager[None]:  # type: ignore[empty-body]
    """A context that is entered when the gateway starts and left when it stops."""


@hookspec
def sluicegate_on_event(event: Event) -> Awaitable[None] | None:
    """Audit and metering: something happened. An awaitable answer is awaited in the background."""
