"""Builds the gateway: turns configuration and plugins into a running Starlette application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from sluicegate._util.lazy import Lazy
from sluicegate.access.activation.endpoint import ActivationEndpoint
from sluicegate.access.authentication.assembly import Access
from sluicegate.access.grants import Grants
from sluicegate.access.limits.assembly import limit_addresses, recipient_limits
from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.access.recipients.expiring import ExpiringCredentials, ProfileWarnings
from sluicegate.api import FormatType, TableFormat
from sluicegate.audit.actions import Operations, operation_key
from sluicegate.audit.assembly import audit_log
from sluicegate.audit.records import AuditLog
from sluicegate.config import Settings
from sluicegate.database import PluginConnections, Store
from sluicegate.http.application import Application
from sluicegate.http.bodies import limit_bodies
from sluicegate.http.client_certificates import ClientCertificates
from sluicegate.http.compression import Compression
from sluicegate.http.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitMiddleware
from sluicegate.http.health import Readiness, health_routes
from sluicegate.plugins import Instances, Registry, configure
from sluicegate.plugins.catalogs.guarded import GuardedCatalog
from sluicegate.plugins.configured import ConfiguredInstances
from sluicegate.protocols.auditing import lazy_operations, recorded
from sluicegate.protocols.common.plugin_services import GrantedTables, PluginServices
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.delta_sharing.assembly import lazy_pipeline, sharing_routes
from sluicegate.protocols.delta_sharing.negotiation import PluginCapabilities
from sluicegate.protocols.delta_sharing.paths import PREFIX
from sluicegate.protocols.delta_sharing.warm_up import warm_up
from sluicegate.protocols.early_refusals import refused_early
from sluicegate.protocols.file_links.links import link_keys, link_maker
from sluicegate.protocols.file_links.routes import content_routes
from sluicegate.protocols.iceberg_rest.assembly import iceberg_routes, lazy_files
from sluicegate.protocols.iceberg_rest.file_routes import FileService
from sluicegate.protocols.openapi.route import openapi_route
from sluicegate.protocols.parts import GatewayParts
from sluicegate.protocols.snapshot_indexes import close_indexes, lazy_indexes
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.load import load_keys
from sluicegate.tables.reading.reader import TableReader
from sluicegate.telemetry.metrics import instruments
from sluicegate.telemetry.middleware import RequestTelemetry
from sluicegate.vending import Ledger, Vending
from sluicegate.vending.hadoop.bindings import TokenBindings
from sluicegate.vending.issue import Vendors

if TYPE_CHECKING:
    from sluicegate.admin.assembly import AdminApi
    from sluicegate.protocols.delta_sharing.pipeline import QueryPipeline
    from sluicegate.protocols.explain.explainer import Explainer
    from sluicegate.protocols.explain.who_can import WhoCan


@dataclass(frozen=True)
class Gateway:
    """A running gateway, and its ASGI application."""

    parts: GatewayParts
    registry: Registry
    configured: ConfiguredInstances
    access: Access
    limiter: RecipientLimiter
    services: Mapping[str, PluginServices]
    readiness: Readiness
    audit: AuditLog | None = None

    @classmethod
    @asynccontextmanager
    async def running(cls, settings: Settings) -> AsyncIterator[Gateway]:
        """Start a gateway: open its database, load its plugins and enter their lifespans."""
        registry = Registry.load(settings)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(registry.aclose)
            gateway = await cls._opened(settings, registry, stack)
            for each in gateway.services.values():
                stack.push_async_callback(each.aclose)
            for lifespan in registry.lifespans(gateway.services.__getitem__):
                await stack.enter_async_context(lifespan)
            # Plugins process the last events with what their lifespans and services hold.
            stack.push_async_callback(registry.drain)
            stack.push_async_callback(gateway.parts.background.aclose)
            if gateway.admin is not None:
                stack.push_async_callback(gateway.admin.aclose)
            yield gateway

    @classmethod
    async def _opened(cls, settings: Settings, registry: Registry, stack: AsyncExitStack) -> Gateway:
        keys = load_keys(settings)
        configured = configure(settings, registry)
        configured.log_warnings()
        instances = _instances(settings, registry, configured, keys)
        stack.push_async_callback(instances.aclose)
        store = await Store.open(settings.database.get_secret_value())
        stack.push_async_callback(store.aclose)
        await store.migrate_plugins(registry.types.migrations)
        audit = await stack.enter_async_context(audit_log(settings, keys, store, registry.notify))
        limits = settings.limits.table.limits
        reader = TableReader(instances.formats, settings.cache.snapshots, limits)
        stack.push_async_callback(reader.aclose)
        indexes = lazy_indexes(settings, keys, instances, limits)
        stack.push_async_callback(close_indexes, indexes)
        grants = Grants(store)
        limiter = await stack.enter_async_context(recipient_limits(settings, store, grants))
        certificates = ClientCertificates(settings.server.forwarded_certificates)
        access = Access(settings, keys, grants, instances.authenticators, certificates)
        stack.push_async_callback(access.aclose)
        ledger = Ledger(store, retention=settings.vending.ledger_retention)
        await stack.enter_async_context(ledger.writing())
        vending = _vending(settings, registry, instances, grants, ledger, limiter)
        stack.push_async_callback(vending.aclose)
        parts = GatewayParts(
            settings=settings,
            keys=keys,
            store=store,
            instances=instances,
            grants=grants,
            authentication=access.authentication,
            reader=reader,
            vending=vending,
            resolver=Resolver(grants, instances, vending),
            indexes=indexes,
            token_bindings=TokenBindings(registry.types.token_bindings.values()),
        )
        return cls(
            parts=parts,
            registry=registry,
            configured=configured,
            access=access,
            limiter=limiter,
            services=_plugin_services(parts, registry, configured),
            readiness=Readiness(store.ping),
            audit=None if settings.audit.mode == "off" else audit,
        )

    @cached_property
    def pipeline(self) -> Lazy[QueryPipeline]:
        """Executes requests of Delta Sharing."""
        return lazy_pipeline(self.parts)

    @cached_property
    def files(self) -> Lazy[FileService]:
        """Serves tables that Iceberg clients read file by file."""
        return lazy_files(self.parts)

    @cached_property
    def admin(self) -> AdminApi | None:
        """The Admin API, if it is enabled."""
        section = self.parts.settings.admin
        if section is None:
            return None
        from sluicegate.admin.assembly import admin_api

        return admin_api(self.parts, section, self.configured, self.explanations)

    @cached_property
    def operations(self) -> Lazy[Operations]:
        """The operations of all documents, which the audit log names."""
        of_plugins = {
            operation_key(*route.split(" ", 1)): name
            for route, name in self.registry.types.operations.items()
        }

        def more() -> Operations:
            return {**of_plugins, **({} if self.admin is None else self.admin.operation_ids())}

        return lazy_operations(more)

    async def warm_up(self, *, is_first: bool = True) -> None:
        """Load what the first query needs. Then, the gateway is ready."""
        operations = [self.operations] if self.audit else []
        pipelines: list[Lazy[Any]] = [*operations, self.pipeline, self.files]
        await warm_up(self.parts, self.access, pipelines, is_first=is_first)
        self.readiness.complete()
        if instruments() is not None:
            self.parts.background.start(self.readiness.measure())
        self._warn_of_ending_profiles()

    def _warn_of_ending_profiles(self) -> None:
        """Report profiles that end soon, as long as the gateway runs."""
        parts = self.parts
        if parts.settings.recipients.warn_before:
            credentials = ExpiringCredentials(parts.store, parts.settings.recipients.warn_before)
            parts.background.start(ProfileWarnings(credentials, self.registry.notify).run())

    def explanations(self) -> tuple[Explainer, WhoCan]:
        """Return the services that explain the access of recipients, over the parts of requests."""
        # An idle gateway needs neither.
        from sluicegate.access.explain.lookups import Lookups
        from sluicegate.protocols.explain.assembly import explanations

        return explanations(self.parts, Lookups(self.parts.store), self.pipeline, self.files)

    def asgi(self) -> ASGIApp:
        """Return the application with its plugins' wrappers; telemetry is outermost."""
        settings = self.parts.settings
        routes = self.routes()
        app = Application(routes=routes)
        added = self.registry.types.capabilities
        announcing: ASGIApp = PluginCapabilities(app, added) if added else app
        wrapped = self.registry.wrap_app(announcing, self.services.__getitem__)
        compressed = wrapped
        if settings.server.compression:
            # Wrappers of plugins must see responses that are not encoded yet.
            compressed = Compression(wrapped, announce=wrapped is announcing)
        limit = ConcurrencyLimit(settings.server.concurrency, gate=self.limiter)
        limited = ConcurrencyLimitMiddleware(compressed, limit, refused_early)
        served = limit_addresses(limited, settings, refused_early)
        if self.audit is not None:
            public = frozenset[str]() if self.admin is None else self.admin.public_paths
            served = recorded(served, self.audit, routes, self.operations, refused_early, public)
        return RequestTelemetry(served)

    def routes(self) -> list[BaseRoute]:
        """Return all routes: those of the core, then those of plugins."""
        parts, settings = self.parts, self.parts.settings
        activation = ActivationEndpoint(parts.store, settings.recipients, settings.public_url)
        return [
            *sharing_routes(parts, self.pipeline),  # first: each earlier route takes time
            *health_routes(self.readiness.check),
            *self.access.routes(),
            *activation.routes(),
            *iceberg_routes(parts, self.files),
            *content_routes(parts.instances.storage, link_keys(parts.keys)),
            openapi_route(settings.public_url, PREFIX),
            *(self.admin.routes() if self.admin is not None else ()),
            *self._console_routes(),
            *limit_bodies(
                self.registry.routes(self.services.__getitem__), settings.limits.request_body.sharing
            ),
        ]

    def _console_routes(self) -> list[BaseRoute]:
        if self.parts.settings.console is None or self.admin is None:
            return []
        from sluicegate.admin.console.extra import console_routes

        pages = self.registry.console_pages(self.services.__getitem__)
        return console_routes(self.parts, self.admin, self.pipeline, self.explanations, pages)


def _delta_format(commits_bytes: int) -> TableFormat:
    from sluicegate.tables.delta import DeltaFormat  # loads Arrow

    return DeltaFormat(commits_bytes)


def _instances(
    settings: Settings, registry: Registry, configured: ConfiguredInstances, keys: KeyRing
) -> Instances:
    return Instances(
        registry,
        configured,
        links=link_maker(settings.public_url, keys),
        formats=[FormatType("delta", partial(_delta_format, settings.cache.commits))],
        guard=lambda entry, catalog: GuardedCatalog(entry.name, catalog, entry.config),
    )


def _vending(
    settings: Settings,
    registry: Registry,
    instances: Instances,
    grants: Grants,
    ledger: Ledger,
    limiter: RecipientLimiter,
) -> Vending:
    return Vending(
        Vendors(instances),
        grants,
        ledger,
        registry.notify,
        lifetime=settings.vending.lifetime,
        assumed_lifetime=settings.vending.assumed_lifetime,
        limiter=limiter,
    )


def _plugin_services(
    parts: GatewayParts, registry: Registry, configured: ConfiguredInstances
) -> Mapping[str, PluginServices]:
    tables = GrantedTables(parts.grants, parts.resolver)
    return {
        plugin.name: PluginServices(
            plugin.name,
            configured.plugins.get(plugin.name),
            parts.settings.public_url,
            parts.authentication,
            tables,
            lambda event, sender: registry.notify(event, but=sender),
            PluginConnections(parts.store),
        )
        for plugin in registry.plugins
    }
