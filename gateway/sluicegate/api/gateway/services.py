"""Services of the gateway for routes, wrappers and lifespans of plugins; part of `sluicegate.api`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sluicegate.api.models import Event, Schema, Share, SharedTable
from sluicegate.api.principals import Principal

if TYPE_CHECKING:
    from sluicegate.api.clients.http_client import HttpClient
    from sluicegate.api.gateway.plugin_data import PluginDatabase

T = TypeVar("T")
Attribute = str | int | float | bool


class VisibleTables(Protocol):
    """The shares, schemas and tables that a recipient can see: granted, and not hidden by a policy.

    Each method takes a principal that `GatewayServices.authenticate` returned. It raises
    `Unauthenticated` if the recipient was revoked or removed since then, and `PermissionDenied` if the
    recipient is no longer allowed to call from the principal's address.
    """

    async def shares(self, principal: Principal) -> Sequence[Share]:
        """Return the shares that are granted to the recipient, sorted by name.

        Raises:
            Unavailable: The database does not respond.
        """

    async def schemas(self, principal: Principal, share: str) -> Sequence[Schema]:
        """Return the schemas of a share, sorted by name.

        Raises:
            NotFound: The share does not exist or is not granted.
            Unavailable: The database or the catalog does not respond.
        """

    async def tables(self, principal: Principal, share: str, schema: str) -> Sequence[SharedTable]:
        """Return the tables of a schema, sorted by name, with the access modes that policies allow.

        Raises:
            NotFound: The share or schema does not exist, or the share is not granted.
            Unavailable: The database, the catalog or a policy does not respond.
        """

    async def table(self, principal: Principal, share: str, schema: str, name: str) -> SharedTable:
        """Return the table with a name, which is case-insensitive.

        Raises:
            NotFound: The table does not exist, is not granted, or is hidden by a policy.
            Unavailable: The database, the catalog or a policy does not respond.
        """


class PluginTelemetry(Protocol):
    """Spans and counters in the gateway's telemetry. They have no cost while telemetry is off."""

    def span(self, name: str, **attributes: str | int | bool) -> AbstractContextManager[object]:
        """Create a span around a step, and record its duration in `sluicegate.step.duration`.

        Args:
            name: The kind of the step, from a small set of names. The exported name is `PLUGIN.name`.
            attributes: Names and numbers; no secrets and no signed URLs.
        """

    def count(self, name: str, n: int = 1, **attributes: Attribute) -> None:
        """Add to a counter, which is exported as `sluicegate.plugin.PLUGIN.name`.

        Args:
            name: Name of the counter: lower-case letters, digits, `_` and `.`.
            n: The number to add; not negative.
            attributes: Attributes with a small set of values; no names of recipients or files.

        Raises:
            ValueError: The name contains other characters.
        """


class GatewayServices(Protocol):
    """The services of a running gateway for one plugin.

    The routes, the wrapper and the lifespan of a plugin receive the same object. Each plugin receives a
    separate object.
    """

    @property
    def name(self) -> str:
        """The plugin's name."""

    @property
    def settings(self) -> Any:
        """The plugin's settings: an instance of the model of `sluicegate_register_settings`.

        `None` if the plugin registers no model.
        """

    @property
    def public_url(self) -> str:
        """The URL at which recipients reach the gateway, without a trailing slash."""

    @property
    def state(self) -> MutableMapping[str, Any]:
        """Values that the plugin shares between its lifespan and its routes, private to the plugin."""

    @property
    def database(self) -> PluginDatabase:
        """The gateway's database, for the tables of `sluicegate_register_migrations`."""

    @property
    def tables(self) -> VisibleTables:
        """The tables that recipients can see."""

    @property
    def telemetry(self) -> PluginTelemetry:
        """Spans and counters."""

    async def authenticate(self, scope: MutableMapping[str, Any]) -> Principal:
        """Authenticate the recipient that sends a request, with all configured methods.

        The request then counts toward the recipient's limits (`server.max_requests_per_recipient`), and
        the access log names the recipient. A request counts once, also if a wrapper authenticates it
        before its route does.

        Args:
            scope: The ASGI scope of the request: `request.scope` in Starlette.

        Raises:
            Unauthenticated: No recipient is authenticated. If a route doesn't handle this error, the
                response is 401 with the challenges of all authenticators.
            PermissionDenied: The recipient is not allowed to connect from this address.
            RateLimited: The recipient has too many requests in progress, or has sent too many.
            Unavailable: The database or an authenticator does not respond.
        """

    def publish(self, event: Event) -> None:
        """Send an event to the plugins that implement `sluicegate_on_event`, except to this plugin.

        Returns at once and never raises. Listeners receive the kind as `PLUGIN.kind`.
        """

    def http_client(
        self, *, timeout: float, connections: int = 8, longest: int = 1_000_000
    ) -> HttpClient:
        """Return a client for one server. The gateway closes it at shutdown.

        Args:
            timeout: Seconds for a response, including all attempts.
            connections: Maximum number of open connections.
            longest: Maximum bytes of a response.
        """


class CommandServices(Protocol):
    """What the commands of one plugin get of the configuration that the command line names.

    Reading the configuration and opening the database takes time, so both happen when they are used.
    """

    @property
    def name(self) -> str:
        """The plugin's name."""

    @property
    def settings(self) -> Any:
        """The plugin's settings: an instance of the model of `sluicegate_register_settings`.

        `None` if the plugin registers no model.

        Raises:
            ConfigurationError: The configuration can't be read, or the settings are not valid.
        """

    def run(self, job: Callable[[PluginDatabase], Awaitable[T]]) -> T:
        """Open the configured database, migrate the plugin's tables, and run a job to its end.

        Raises:
            ConfigurationError: The database can't be opened, or fails during the job.
        """
