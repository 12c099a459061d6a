"""Every hook of the gateway. The docstrings are the reference pages of the plugin guide.

The prefix of its name determines how a hook is called: `register_…` once at startup, to return types;
`wrap_…` to wrap the application; `on_…` for notifications. Work for each request is never a hook call.
It is a method of an instance of a registered type.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import pluggy

from sluicegate.api import (
    AuthenticatorType,
    CatalogType,
    CommandServices,
    ConsolePage,
    Event,
    FormatType,
    GatewayServices,
    Migration,
    PluginConfig,
    PolicyType,
    StorageType,
    TaskExecutorType,
    TokenBinding,
)

if TYPE_CHECKING:
    import click
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

__all__ = ["hookspec"]

hookspec = pluggy.HookspecMarker("sluicegate")


@hookspec
def sluicegate_register_settings() -> type[PluginConfig]:  # type: ignore[empty-body]
    """Return the model of the plugin's own settings.

    They are a section of `gateway.yaml` with the plugin's name, which also enables the plugin, or stand
    next to `type` in an entry of `plugins:`. Routes, wrappers, lifespans, pages and commands get them
    from `services.settings`.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration.

    Example:
        from pydantic import Field
        from sluicegate.api import PluginConfig, hookimpl

        class AcmeSettings(PluginConfig):
            endpoint: str = Field(default="https://audit.example.com", description="Address.")

        @hookimpl
        def sluicegate_register_settings() -> type[PluginConfig]:
            return AcmeSettings
    """


@hookspec
def sluicegate_register_catalogs() -> Sequence[CatalogType]:  # type: ignore[empty-body]
    """Return catalog types, which provide tables. Each name is a `type` under `catalogs:`.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration.

    Example:
        from sluicegate.api import Catalog, CatalogConfig, CatalogTable, CatalogType, NotFound, hookimpl

        class AcmeCatalog(Catalog):
            def __init__(self, config, context):
                self._tables = {"eu.orders": "s3://acme-lake/eu/orders"}

            async def list_schemas(self):
                return ["eu"]

            async def list_tables(self, schema):
                return ["orders"]

            def identifier(self, schema, table):
                return f"{schema}.{table}"

            async def load_table(self, identifier):
                if identifier not in self._tables:
                    raise NotFound("there is no such table")
                return CatalogTable(identifier, "delta", self._tables[identifier])

        @hookimpl
        def sluicegate_register_catalogs():
            return [CatalogType("acme", CatalogConfig, AcmeCatalog)]
    """


@hookspec
def sluicegate_register_storage() -> Sequence[StorageType]:  # type: ignore[empty-body]
    """Return storage types, which presign URLs, open locations, and can vend credentials.

    Each name is a `type` under `storage:`.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration.

    Example:
        from sluicegate.api import Storage, StorageConfig, StorageType, UnsupportedOperation, hookimpl

        class AcmeStorage(Storage):
            def __init__(self, config, context):
                self._prefix, self._links = config.prefix, context.links

            @property
            def prefix(self):
                return self._prefix

            async def presign(self, locations, expires_in, credentials=None):
                paths = [location.removeprefix(self._prefix) for location in locations]
                return self._links.sign(paths, expires_in)

            async def open(self, location, credentials=None):
                raise UnsupportedOperation("open the location through obstore here")

        @hookimpl
        def sluicegate_register_storage():
            return [StorageType("acme", ("acme",), StorageConfig, AcmeStorage)]
    """


@hookspec
def sluicegate_register_formats() -> Sequence[FormatType]:  # type: ignore[empty-body]
    """Return table formats other than Delta, which the core reads itself.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration.

    Example:
        from sluicegate.api import FormatType, InvalidRequest, TableFormat, Unavailable, hookimpl

        class AcmeFormat(TableFormat):
            async def latest(self, table, directory, previous):
                raise Unavailable("make a snapshot with sluicegate.formats here")

            async def at_version(self, table, directory, version):
                raise InvalidRequest(f"the version {version} does not exist")

            async def version_at(self, table, directory, latest, timestamp, *, earliest_after):
                return latest.version

        @hookimpl
        def sluicegate_register_formats():
            return [FormatType("acme-format", AcmeFormat)]
    """


@hookspec
def sluicegate_register_authenticators() -> Sequence[AuthenticatorType]:  # type: ignore[empty-body]
    """Return authenticator types, which authenticate recipients without the gateway's own tokens.

    Each name is a `type` under `authentication.authenticators:`.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration.

    Example:
        from sluicegate.api import Authenticator, AuthenticatorType, PluginConfig, Principal, hookimpl

        class AcmeAuthenticator(Authenticator):
            def __init__(self, config, context):
                self._name = context.name

            async def authenticate(self, request):
                certificate = await request.client_certificate()
                if certificate is None or len(certificate.common_names) != 1:
                    return None
                return Principal(id="", name=certificate.common_names[0], method=self._name)

        @hookimpl
        def sluicegate_register_authenticators():
            return [AuthenticatorType("acme", PluginConfig, AcmeAuthenticator)]
    """


@hookspec
def sluicegate_register_policies() -> Sequence[PolicyType]:  # type: ignore[empty-body]
    """Return policy types, which restrict granted access. Each name is a `type` under `policies:`.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration.

    Example:
        from sluicegate.api import PluginConfig, Policy, PolicyType, hookimpl

        class AcmePolicy(Policy):
            def __init__(self, config, context):
                self._hidden = {"drafts"}

            async def allowed(self, principal, action, tables):
                return frozenset(table for table in tables if table.schema not in self._hidden)

        @hookimpl
        def sluicegate_register_policies():
            return [PolicyType("acme", PluginConfig, AcmePolicy)]
    """


@hookspec
def sluicegate_register_capabilities() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return keys and values to add to the `delta-sharing-capabilities` response header.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration.

    Example:
        from sluicegate.api import hookimpl

        @hookimpl
        def sluicegate_register_capabilities():
            return {"acme-audit": "full"}
    """


@hookspec
def sluicegate_register_task_executors() -> Sequence[TaskExecutorType]:  # type: ignore[empty-body]
    """Return types of task executors for the delegation service, with the operations that they run.

    Each name is a `type` under `delegation.executors:`.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration.

    Example:
        from sluicegate.api import PluginConfig, TaskExecutor, TaskExecutorType, TaskResult, hookimpl

        class AcmeExecutor(TaskExecutor):
            def __init__(self, config, context):
                self._name = context.name

            async def run(self, task, resources, run):
                return TaskResult(f"{self._name} has nothing to do for {task.table.name}")

        @hookimpl
        def sluicegate_register_task_executors():
            return [TaskExecutorType("acme", ("acme-check",), PluginConfig, AcmeExecutor)]
    """


@hookspec
def sluicegate_register_token_bindings() -> Sequence[TokenBinding]:  # type: ignore[empty-body]
    """Return bindings of Hadoop delegation tokens for S3, in addition to session, role and full.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration.

    Example:
        from sluicegate.api import MarshalledCredentials, TokenBinding, hookimpl

        class AcmeBinding(TokenBinding):
            name, kind = "acme", "Acme/Session"
            hadoop_class, credentials = "com.acme.hadoop.SessionBinding", None

            def marshal(self, credentials):
                secret = credentials.secret
                return MarshalledCredentials(
                    secret["access_key_id"], secret["secret_access_key"], secret["session_token"]
                )

        @hookimpl
        def sluicegate_register_token_bindings():
            return [AcmeBinding()]
    """


@hookspec
def sluicegate_register_routes(services: GatewayServices) -> Sequence[BaseRoute]:  # type: ignore[empty-body]
    """Return Starlette routes, which the gateway serves after its own.

    If a route raises an error of `sluicegate.api`, the response has the error's status and a JSON body.
    A route that reads a body beyond `limits.request_body.sharing` raises such an error, for 413.

    Called:
        Once, when the gateway starts, after the lifespans were entered.

    Example:
        from sluicegate.api import hookimpl
        from starlette.responses import JSONResponse
        from starlette.routing import Route

        @hookimpl
        def sluicegate_register_routes(services):
            async def shares(request):
                principal = await services.authenticate(request.scope)
                found = await services.tables.shares(principal)
                return JSONResponse([share.name for share in found])

            return [Route("/acme/shares", shares)]
    """


@hookspec
def sluicegate_register_operations() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return the operations of the plugin's routes, under which the audit log records their requests.

    A key is a method and the path of a route, with the same parameters. A value is the plugin's name, a
    period, and a name. Requests of other routes are recorded by their method and path. A key with the
    path of no route has no effect.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration.

    Example:
        from sluicegate.api import hookimpl

        @hookimpl
        def sluicegate_register_operations():
            return {"GET /acme/shares/{share}": "acme.getShare"}
    """


@hookspec
def sluicegate_register_migrations() -> Sequence[Migration]:  # type: ignore[empty-body]
    """Return the migrations of the plugin's tables in the gateway's database, oldest first.

    Later versions of the plugin add migrations at the end, and change none. A version of the plugin
    that lacks a migration of the database is refused.

    Called:
        Once, when the plugins are loaded: by the gateway, the delegation service, its workers, and
        commands that read the configuration. `sluicegate serve`, `sluicegate database migrate` and the
        plugin's own commands make the pending ones.

    Example:
        import sqlalchemy as sa
        from sluicegate.api import Migration, hookimpl

        def notes(op):
            op.create_table(
                "acme_notes",
                sa.Column("share", sa.Text, primary_key=True),
                sa.Column("text", sa.Text, nullable=False),
            )

        @hookimpl
        def sluicegate_register_migrations():
            return [Migration("0001", notes)]
    """


@hookspec
def sluicegate_register_console_pages(services: GatewayServices) -> Sequence[ConsolePage]:  # type: ignore[empty-body]
    """Return pages of the console, which administrators of all shares can open.

    Called:
        Once, when a gateway with a console starts, after the lifespans were entered.

    Example:
        from sluicegate.api import ConsoleFacts, ConsolePage, hookimpl

        @hookimpl
        def sluicegate_register_console_pages(services):
            async def show(request):
                return [ConsoleFacts({"Address of the gateway": services.public_url})]

            return [ConsolePage("", "Acme", show)]
    """


@hookspec
def sluicegate_register_commands(cli: click.Group, services: CommandServices) -> None:
    """Add commands to the `sluicegate` command.

    Called:
        When a command is run that is not built in. Only plugins under `plugins:`, and those with a
        section of their name, are called. To list a command in `sluicegate --help` and in completions,
        where nothing is called, declare its name as an entry point: in the group
        `sluicegate.commands`, with the plugin's module as the value.

    Example:
        import click
        from sluicegate.api import hookimpl

        @hookimpl
        def sluicegate_register_commands(cli):
            @cli.command()
            def acme():
                click.echo("hello")
    """


@hookspec
def sluicegate_wrap_app(app: ASGIApp, services: GatewayServices) -> ASGIApp:  # type: ignore[empty-body]
    """Wrap the ASGI application, for example in middleware.

    The wrapper of the first plugin in the configuration is the innermost.

    Called:
        Once, when the gateway starts, after the routes were registered.

    Example:
        from sluicegate.api import hookimpl

        @hookimpl
        def sluicegate_wrap_app(app, services):
            async def counting(scope, receive, send):
                services.telemetry.count("requests")
                await app(scope, receive, send)

            return counting
    """


@hookspec
def sluicegate_lifespan(  # type: ignore[empty-body]
    services: GatewayServices,
) -> AbstractAsyncContextManager[None]:
    """Return a context manager that is active while the gateway runs.

    Called:
        Once, when the gateway starts. The context is entered before the first request, in the order of
        the configuration, and left in reverse order after the last response.

    Example:
        from contextlib import asynccontextmanager
        from sluicegate.api import hookimpl

        @hookimpl
        def sluicegate_lifespan(services):
            @asynccontextmanager
            async def running():
                services.state["client"] = services.http_client(timeout=5)
                yield
                services.state.clear()

            return running()
    """


@hookspec
def sluicegate_on_event(event: Event) -> Awaitable[None] | None:
    """Handle an event, for audit or metering. An awaitable result is awaited in the background.

    The kinds of the gateway's events begin with `issued.` and `profile.`, those of a plugin with its
    name. `profile.ending`: the last valid credential of a recipient (`event.principal`) ends soon. The
    attributes are `credential_id`, `credential` (`bearer` or `oauth`) and `expires_at`.

    Called:
        For each event, in the event loop and during a request, so it must not block. Errors are logged
        and don't affect the request.

    Example:
        import logging
        from sluicegate.api import hookimpl

        @hookimpl
        async def sluicegate_on_event(event):
            who = event.principal.name if event.principal else "nobody"
            logging.getLogger("sluicegate_acme").info("%s: %s", event.kind, who)
    """
