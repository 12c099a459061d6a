"""Manages the database of a configuration, with the handlers of the Admin API in this process."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode

import orjson
from starlette.requests import Request
from starlette.routing import compile_path

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.call import AdminCall
from sluicegate.admin.dependencies import AdminServices
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.identity import Admin
from sluicegate.api import Catalog, Principal, SluicegateError
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.database import open_store
from sluicegate.cli.management.target import ManagedAnswer, Query
from sluicegate.config import Settings
from sluicegate.config.sections.admin import AdminSettings
from sluicegate.database import Store
from sluicegate.database.engine import DatabaseUnavailable
from sluicegate.signing.keyring import KeyRing
from sluicegate.vending.sessions import SessionsOutcome, end_sessions

if TYPE_CHECKING:
    from sluicegate.cli.management.recorded import RecordedChanges
    from sluicegate.plugins import Instances, Registry
    from sluicegate.plugins.configured import ConfiguredInstances
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.who_can import WhoCan

# A user who can read the configuration can change the database anyway.
_OPERATOR = Admin("command", "owner", None, "command", 0)
_LONGEST_BODY = 256 << 20


class LocalTarget:
    """The configured database, and the configured plugins, which are loaded when they are needed.

    Args:
        on_progress: Is called with the number of sources that were looked up, and of all.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        stack: AsyncExitStack,
        on_progress: Callable[[int, int], None],
    ) -> None:
        self._settings = settings
        self._store = store
        self._stack = stack
        self._on_progress = on_progress
        self._explanations: tuple[Explainer, WhoCan] | None = None

    @property
    def has_admin_api(self) -> bool:
        """Whether the configuration enables the Admin API."""
        return self._settings.admin is not None

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: Mapping[str, Any] | None = None,
        match: str | None = None,
    ) -> ManagedAnswer:
        """Call the handler of a route; see `Target.send`."""
        route, names = self._route(method, path)
        headers = [] if match is None else [(b"if-match", match.encode())]
        content = b"" if body is None else orjson.dumps(body)
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": urlencode(query).encode(),
            "headers": headers,
            "path_params": names,
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        call = AdminCall(Request(scope, receive), _OPERATOR, _LONGEST_BODY)
        try:
            async with self._recorded(route, scope, query):
                response = await route.handler(call)
        except DatabaseUnavailable as error:
            raise ConfigurationError(f"the database failed: {error.detail or error.message}") from error
        answer = orjson.loads(response.body) if response.body else None
        return ManagedAnswer(answer, response.headers)

    def _recorded(
        self, route: AdminRoute, scope: Mapping[str, Any], query: Query
    ) -> AbstractAsyncContextManager[None]:
        if route.method == "GET" or ("dry_run", "true") in query:
            return nullcontext()
        return self._changes.recorded(route.operation, scope)

    @cached_property
    def _changes(self) -> RecordedChanges:
        from sluicegate.cli.management.recorded import RecordedChanges

        return RecordedChanges(self._settings, self._store, self._stack)

    def _route(self, method: str, path: str) -> tuple[AdminRoute, dict[str, str]]:
        for route, pattern in self._routes:
            found = pattern.match(path) if route.method == method else None
            if found is not None:
                return route, {name: unquote(value) for name, value in found.groupdict().items()}
        raise LookupError(f"there is no route {method} {path}")

    @cached_property
    def _routes(self) -> Sequence[tuple[AdminRoute, Any]]:
        services = AdminServices(
            store=self._store,
            catalogs=self._catalogs,
            end_sessions=self._end_sessions,
            explanations=self._explain,
            configured=lambda: self._configured,
            open_location=lambda location: self._instances.open_location(location),
            describe=_with_details,
            on_progress=self._on_progress,
        )
        # Only pages are signed, which no other process requests.
        keys = KeyRing((secrets.token_bytes(32),))
        section = self._settings.admin or AdminSettings()
        api = AdminApi(self._settings, section, keys, services)
        # `/tasks/prune` also fits routes with a parameter, so exact paths come first.
        routes = sorted(api.operations, key=lambda route: route.path.count("{"))
        return [(route, compile_path(route.path)[0]) for route in routes]

    def _catalogs(self) -> Mapping[str, Catalog]:
        return self._instances.catalogs

    async def _end_sessions(self, principal: Principal, before: int) -> AsyncIterator[SessionsOutcome]:
        async for outcome in end_sessions(self._instances, principal, before):
            yield outcome

    async def _explain(self) -> tuple[Explainer, WhoCan]:
        """The services of a gateway with this configuration, which serves nothing."""
        if self._explanations is None:
            from sluicegate.app import Gateway

            gateway = await self._stack.enter_async_context(Gateway.running(self._settings))
            self._explanations = gateway.explanations()
        return self._explanations

    @cached_property
    def _registry(self) -> Registry:
        from sluicegate.plugins import Registry

        return Registry.load(self._settings)

    @cached_property
    def _configured(self) -> ConfiguredInstances:
        from sluicegate.plugins import configure

        return configure(self._settings, self._registry)

    @cached_property
    def _instances(self) -> Instances:
        from sluicegate.plugins import Instances
        from sluicegate.plugins.catalogs.guarded import GuardedCatalog
        from sluicegate.plugins.context import NoLinks

        instances = Instances(
            self._registry,
            self._configured,
            links=NoLinks,
            guard=lambda entry, catalog: GuardedCatalog(entry.name, catalog, entry.config),
        )
        self._stack.push_async_callback(instances.aclose)
        return instances


@asynccontextmanager
async def open_local(
    settings: Settings, on_progress: Callable[[int, int], None]
) -> AsyncIterator[LocalTarget]:
    """Open the configured database."""
    async with open_store(settings) as store, AsyncExitStack() as stack:
        # Results contain what a gateway would log.
        gateway_log, ignored = logging.getLogger("sluicegate"), logging.NullHandler()
        gateway_log.addHandler(ignored)
        stack.callback(gateway_log.removeHandler, ignored)
        yield LocalTarget(settings, store, stack, on_progress)


def _with_details(error: SluicegateError) -> str:
    return error.for_operators
