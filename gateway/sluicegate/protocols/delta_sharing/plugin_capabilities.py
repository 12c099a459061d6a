"""Adds the capabilities that plugins announce to the capabilities header of responses."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluicegate.protocols.delta_sharing.negotiation import HEADER, encode


class PluginCapabilities:
    """Middleware that adds plugins' capabilities to every response with a capabilities header.

    Args:
        app: The wrapped application.
        added: Keys and values to add.
    """

    def __init__(self, app: ASGIApp, added: Mapping[str, str]) -> None:
        self._app = app
        self._added = encode(added)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a scope."""

        async def announce(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if HEADER in headers:
                    headers[HEADER] = ";".join(filter(None, (headers[HEADER], self._added)))
            await send(message)

        await self._app(scope, receive, announce)
