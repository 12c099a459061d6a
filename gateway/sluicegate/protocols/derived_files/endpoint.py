"""Serves links to derived files: verifies the recipient and the grant, and opens the table."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.access.grants import Grants
from sluicegate.http.concurrency_limit import slots_of
from sluicegate.protocols.common.link_recipient import link_recipient
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.derived_files.links import SPACE, DerivedLink, link_keys
from sluicegate.protocols.file_links import verify
from sluicegate.protocols.file_links.conditions import Validators
from sluicegate.protocols.file_links.responses import respond_bytes
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.reading.reader import TableReader
from sluicegate.telemetry import name_recipient


class DerivedFileEndpoint:
    """Serves links that `DerivedLinks` signed. The link is the credential; no bearer token is needed.

    The table is opened for the recipient again, with newly vended credentials. A link therefore stops
    working when the grant or the recipient is removed, if it has not expired before.

    Args:
        keys: The gateway's keys.
        grants: Looks up recipients.
        resolver: Finds and opens the table.
        reader: Generates the file through the table's format.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        keys: KeyRing,
        grants: Grants,
        resolver: Resolver,
        reader: TableReader,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keys = link_keys(keys)
        self._grants = grants
        self._resolver = resolver
        self._reader = reader
        self._clock = clock

    def route(self) -> Route:
        """The route. It must come before the route of file links."""
        address = f"/content/{SPACE}/{{link}}"
        return Route(address, self._fetch, methods=["GET", "HEAD"], name="derived")

    async def _fetch(self, request: Request) -> Response:
        path = request.path_params["link"]
        verify(self._keys, SPACE, path, request.url.query, self._clock())
        ticket = slots_of(request.scope)
        if ticket is not None:
            await ticket.enter(None)
        link = DerivedLink.parse(path)
        address = request.client and request.client.host
        principal = await link_recipient(self._grants, link.recipient, link.recipient_id, address)
        name_recipient(principal.name)
        if ticket is not None:
            ticket.name(principal.id)
        shared = await self._resolver.table(principal, link.share, link.schema, link.table)
        table = await self._resolver.open(principal, shared)
        content = await self._reader.derived(table.source, table.directory, link.file)
        validators = Validators(f'"{link.digest}"')
        return respond_bytes(content, validators, request.method, request.headers)
