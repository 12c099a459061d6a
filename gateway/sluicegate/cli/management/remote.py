"""Manages a gateway over its Admin API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import orjson

from sluicegate import __version__
from sluicegate._util.printable import printable
from sluicegate.admin.endpoint import PREFIX, VERSION_HEADER
from sluicegate.api.clients.http_client import (
    HttpClient,
    HttpRequest,
    HttpResponse,
    NoResponse,
    OutcomeUnknown,
)
from sluicegate.api.errors import (
    ConfigurationError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    SluicegateError,
    Unavailable,
)
from sluicegate.cli.management.server import UNEXPECTED_FORM, Server
from sluicegate.cli.management.target import ManagedAnswer, Query

_TIMEOUT = 300.0  # seconds; catalogs can be slow
_CONNECTIONS = 4
_LONGEST = 64 << 20
_LONGEST_MESSAGE = 20_000
_LONGEST_VERSION = 40
_BUSY = (429, 503)
_ERRORS: Mapping[int, type[SluicegateError]] = {
    400: InvalidRequest,
    403: PermissionDenied,
    404: NotFound,
}


class RemoteTarget:
    """A gateway, managed by an administrator with a token.

    Args:
        on_version: Is called with the version of a gateway that differs from this one.
    """

    def __init__(self, server: Server, client: HttpClient, on_version: Callable[[str], None]) -> None:
        self._server = server
        self._client = client
        self._on_version = on_version

    @property
    def has_admin_api(self) -> bool:
        """Whether the gateway has the Admin API: it answers."""
        return True

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: Mapping[str, Any] | None = None,
        match: str | None = None,
    ) -> ManagedAnswer:
        """Send a request over HTTP; see `Target.send`."""
        headers = {"Authorization": f"Bearer {self._server.token}"}
        if match is not None:
            headers["If-Match"] = match
        url = f"{self._server.url}{PREFIX}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            response = await self._client.send(HttpRequest(method, url, headers, json=body))
        except OutcomeUnknown:
            raise Unavailable(
                f"{self._server.url} did not respond, and it is unknown whether the change was made: "
                "look at the current state before you repeat the command"
            ) from None
        except NoResponse as error:
            reason = type(error.__cause__).__name__ if error.__cause__ else "no response"
            raise Unavailable(
                f"{self._server.url} does not respond ({reason}): check the URL of --server, and its "
                "certificate"
            ) from None
        return self._checked(response)

    def _checked(self, response: HttpResponse) -> ManagedAnswer:
        content = _parsed(response.content)
        version = response.headers.get(VERSION_HEADER)
        if version is None:
            raise self._not_an_admin_api(response, content)
        if version != __version__:
            self._on_version(printable(version[:_LONGEST_VERSION]))
        if response.status in (200, 201) and isinstance(content, dict):
            return ManagedAnswer(content, response.headers)
        if response.status == 204:
            return ManagedAnswer(None, response.headers)
        message = _message(content)
        if message is None:
            raise ConfigurationError(UNEXPECTED_FORM)
        if response.status == 401:
            source = self._server.token_source
            raise ConfigurationError(
                f"{self._server.url} does not accept the token of {source}: {message}"
            )
        raise _ERRORS.get(response.status, SluicegateError)(message)

    def _not_an_admin_api(self, response: HttpResponse, content: Any) -> SluicegateError:
        url, message = self._server.url, _message(content)
        if response.status in _BUSY and message is not None:
            return Unavailable(f"{url} is busy: {message}")
        if 300 <= response.status < 400:
            return ConfigurationError(
                f"{url} redirects to another address, to which no token is sent: use that address"
            )
        return ConfigurationError(
            f"{url} does not have the Admin API (status {response.status}): use the URL of a gateway "
            "whose configuration has the section admin, and that has this version or a later one"
        )


@asynccontextmanager
async def open_remote(server: Server, on_version: Callable[[str], None]) -> AsyncIterator[RemoteTarget]:
    """Connect to a gateway when the first request is sent."""
    client = HttpClient(timeout=_TIMEOUT, connections=_CONNECTIONS, longest=_LONGEST)
    try:
        yield RemoteTarget(server, client, on_version)
    finally:
        await client.aclose()


def _parsed(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return None


def _message(content: Any) -> str | None:
    """The message of an error, without characters that a terminal interprets."""
    message = content.get("message") if isinstance(content, dict) else None
    if not isinstance(message, str) or not message:
        return None
    return "\n".join(printable(line) for line in message[:_LONGEST_MESSAGE].splitlines())
