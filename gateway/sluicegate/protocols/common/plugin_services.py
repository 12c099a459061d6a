"""The services that plugins' routes, wrappers, and lifespans receive instead of the running gateway."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.authentication.recipient_checks import check_current
from sluicegate.access.grants import Grants
from sluicegate.api import (
    Event,
    HttpClient,
    PluginConfig,
    PluginDatabase,
    Principal,
    Schema,
    Share,
    SharedTable,
)
from sluicegate.protocols.common.endpoint import admit_sender
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.telemetry import count_of_plugin, span

log = logging.getLogger(__name__)

Publish = Callable[[Event, str], None]
_COUNTER = re.compile(r"[a-z][a-z0-9_.]{0,63}")


class PluginServices:
    """The `api.GatewayServices` of one plugin."""

    def __init__(
        self,
        name: str,
        settings: PluginConfig | None,
        public_url: str,
        authentication: Authentication,
        tables: GrantedTables,
        publish: Publish,
        database: PluginDatabase,
    ) -> None:
        self._name = name
        self._settings = settings
        self._public_url = public_url
        self._authentication = authentication
        self._tables = tables
        self._publish = publish
        self._database = database
        self._telemetry = NamedTelemetry(name)
        self._state: dict[str, Any] = {}
        self._clients: list[HttpClient] = []

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self._name

    @property
    def settings(self) -> Any:
        """The plugin's settings."""
        return self._settings

    @property
    def public_url(self) -> str:
        """The URL at which recipients reach the gateway."""
        return self._public_url

    @property
    def state(self) -> MutableMapping[str, Any]:
        """Values that the plugin stores."""
        return self._state

    @property
    def database(self) -> PluginDatabase:
        """The gateway's database."""
        return self._database

    @property
    def tables(self) -> GrantedTables:
        """The tables that recipients can see."""
        return self._tables

    @property
    def telemetry(self) -> NamedTelemetry:
        """Spans and counters."""
        return self._telemetry

    async def authenticate(self, scope: MutableMapping[str, Any]) -> Principal:
        """Authenticate the recipient that sends a request; see `api.GatewayServices`."""
        return await admit_sender(scope, self._authentication)

    def publish(self, event: Event) -> None:
        """Send an event to the other plugins."""
        self._publish(replace(event, kind=f"{self._name}.{event.kind}"), self._name)

    def http_client(
        self, *, timeout: float, connections: int = 8, longest: int = 1_000_000
    ) -> HttpClient:
        """An HTTP client that `aclose` closes."""
        client = HttpClient(timeout=timeout, connections=connections, longest=longest)
        self._clients.append(client)
        return client

    async def aclose(self) -> None:
        """Close the HTTP clients."""
        clients, self._clients = self._clients, []
        for client in clients:
            try:
                await client.aclose()
            except Exception as error:
                log.warning(
                    "an HTTP client of plugin '%s' failed to close: %s",
                    self._name,
                    type(error).__name__,
                )


class GrantedTables:
    """The `api.VisibleTables` of a gateway.

    Plugins can keep or make principals, so each call looks the recipient up again.
    """

    def __init__(self, grants: Grants, resolver: Resolver) -> None:
        self._grants = grants
        self._resolver = resolver

    async def shares(self, principal: Principal) -> Sequence[Share]:
        """The shares that the recipient was granted."""
        return await self._grants.shares(await self._current(principal))

    async def schemas(self, principal: Principal, share: str) -> Sequence[Schema]:
        """The schemas of a share."""
        return await self._resolver.schemas(await self._current(principal), share)

    async def tables(self, principal: Principal, share: str, schema: str) -> Sequence[SharedTable]:
        """The tables of a schema that policies allow."""
        current = await self._current(principal)
        found = await self._resolver.schema(current, share, schema)
        shown = await self._resolver.shown(current, await self._resolver.tables(found))
        return await self._resolver.narrowed(current, shown)

    async def table(self, principal: Principal, share: str, schema: str, name: str) -> SharedTable:
        """A table by name."""
        current = await self._current(principal)
        found = await self._resolver.table(current, share, schema, name)
        (table,) = await self._resolver.narrowed(current, [found])
        return table

    async def _current(self, principal: Principal) -> Principal:
        """The recipient as it is now, with the properties that policies see."""
        return check_current(await self._grants.recipient(principal.name), principal)


class NamedTelemetry:
    """The `api.PluginTelemetry` of a plugin."""

    def __init__(self, plugin: str) -> None:
        self._plugin = plugin

    def span(self, name: str, **attributes: str | int | bool) -> AbstractContextManager[object]:
        """A span around a step."""
        return span(f"{self._plugin}.{name}", **attributes)

    def count(self, name: str, n: int = 1, **attributes: str | int | float | bool) -> None:
        """Add to a counter of the plugin."""
        if not _COUNTER.fullmatch(name):
            raise ValueError(f"the counter {name!r} must be named with a-z, 0-9, '_' and '.'")
        count_of_plugin(self._plugin, name, n, **attributes)
