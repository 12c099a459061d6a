"""The gateway: configuration and registry become a running Starlette application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from sluicegate.access.assemble import Access
from sluicegate.access.grants import Grants
from sluicegate.access.oauth.endpoint import TOKEN_PATHS, refusal_response
from sluicegate.access.oauth.requests import OAuthError
from sluicegate.access.profile import ICEBERG_PATH
from sluicegate.api import FormatType, LinkSigner, TableFormat
from sluicegate.budget import TableLimits
from sluicegate.catalogs.guarded import GuardedCatalog
from sluicegate.config import Settings
from sluicegate.config.settings import TableLimitSettings
from sluicegate.content.links import ContentLinks
from sluicegate.content.routes import content_routes
from sluicegate.errors import SluicegateError
from sluicegate.http.admission import Admission, RequestAdmission
from sluicegate.http.application import Application
from sluicegate.http.health import health_routes
from sluicegate.http.responses import error_response
from sluicegate.iceberg_rest.door import iceberg_routes
from sluicegate.iceberg_rest.errors import refuse
from sluicegate.keyring import KeyRing
from sluicegate.keys import load_keys
from sluicegate.registry import Instances, Registry, configure
from sluicegate.sharing.door import sharing_routes
from sluicegate.sharing.plugin_capabilities import PluginCapabilities
from sluicegate.store import Store
from sluicegate.tables.reader import TableReader
from sluicegate.telemetry.middleware import RequestTelemetry
from sluicegate.vending import Ledger, Vending
from sluicegate.vending.hadoop.bindings import TokenBindings
from sluicegate.vending.vendors import Vendors


@dataclass(frozen=True)
class Gateway:
    """A running gateway: what plugins' routes and lifespans may use, and the ASGI application."""

    settings: Settings
    registry: Registry
    instances: Instances
    store: Store
    grants: Grants
    reader: TableReader
    access: Access
    vending: Vending

    @classmethod
    @asynccontextmanager
    async def running(cls, settings: Settings) -> AsyncIterator[Gateway]:
        """A gateway with its database open, its plugins loaded and their lifespans entered.

        Raises:
            ConfigurationError: Something in the configuration is wrong, a plugin cannot be loaded, or
                the database cannot be reached: a gateway that would fail later does not start.
        """
        keys = load_keys(settings)
        registry = Registry.load(settings)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(registry.aclose)
            instances = Instances(
                registry,
                configure(settings, registry),
                links=_link_maker(settings, keys),
                formats=[FormatType("delta", partial(_delta_format, settings.cache.commits))],
                guard=lambda entry, catalog: GuardedCatalog(entry.name, catalog, entry.config),
            )
            stack.push_async_callback(instances.aclose)
            store = await Store.open(settings.database.get_secret_value())
            stack.push_async_callback(store.aclose)
            reader = TableReader(
                instances.formats, settings.cache.snapshots, _table_limits(settings.limits.table)
            )
            stack.push_async_callback(reader.aclose)
            grants = Grants(store)
            access = Access(settings, keys, grants, instances.authenticators)
            stack.push_async_callback(access.aclose)
            ledger = Ledger(store, retention=settings.vending.ledger_retention)
            await stack.enter_async_context(ledger.writing())
            vending = Vending(
                Vendors(instances), grants, ledger, registry.notify, lifetime=settings.vending.lifetime
            )
            stack.push_async_callback(vending.aclose)
            gateway = cls(settings, registry, instances, store, grants, reader, access, vending)
            for lifespan in registry.lifespans(gateway):
                await stack.enter_async_context(lifespan)
            yield gateway

    def asgi(self) -> ASGIApp:
        """The application with its plugins' wrappers, telemetry outermost."""
        app = Application(routes=self.routes())
        app.router.redirect_slashes = False  # an address that does not exist is a 404 in JSON
        added = self.registry.capabilities()
        announcing: ASGIApp = PluginCapabilities(app, added) if added else app
        wrapped = self.registry.wrap_app(announcing, self.settings.source.values)
        admission = Admission(self.settings.server.admission)
        return RequestTelemetry(RequestAdmission(wrapped, admission, _refused_early))

    def routes(self) -> list[BaseRoute]:
        """Everything that is served: the core's routes, then those of plugins."""
        keys = load_keys(self.settings)
        sharing = sharing_routes(
            self.settings,
            keys,
            authentication=self.access.authentication,
            grants=self.grants,
            instances=self.instances,
            reader=self.reader,
            vending=self.vending,
            token_bindings=TokenBindings(self.registry.token_bindings().values()),
        )
        iceberg = iceberg_routes(
            self.settings,
            keys,
            authentication=self.access.authentication,
            grants=self.grants,
            instances=self.instances,
            vending=self.vending,
        )
        return [
            *sharing,  # first: they are asked most, and each route before them takes time
            *health_routes(self.store.ping),
            *self.access.routes(),
            *iceberg,
            *content_routes(self.instances.storage, keys.derive(_LINKS)),
            *self.registry.routes(self),
        ]


def _table_limits(settings: TableLimitSettings) -> TableLimits:
    return TableLimits(bytes=settings.bytes, rows=settings.rows, seconds=settings.time)


_LINKS = "content links"


def _delta_format(commits_bytes: int) -> TableFormat:
    from sluicegate.tables.delta import DeltaFormat  # loads Arrow

    return DeltaFormat(commits_bytes)


def _link_maker(settings: Settings, keys: KeyRing) -> Callable[[str], LinkSigner]:
    secret = keys.derive(_LINKS).signing

    def links(storage: str) -> LinkSigner:
        return ContentLinks(secret, settings.public_url, storage)

    return links


def _refused_early(path: str, error: SluicegateError) -> Response:
    """What is refused before any door gets it, in the spelling of the door at the path."""
    if path in TOKEN_PATHS:
        return refusal_response(OAuthError("slow_down", error.message, error.status))
    return refuse(error) if path.startswith(f"{ICEBERG_PATH}/") else error_response(error)
