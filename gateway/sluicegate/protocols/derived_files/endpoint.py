"""Serves links to derived files: verifies the recipient and the grant, and opens the table."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.access.grants import Grants
from sluicegate.protocols.common.recipient_links import RecipientLinks
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.derived_files.links import SPACE, DerivedLink, link_keys
from sluicegate.protocols.file_links.conditions import Validators
from sluicegate.protocols.file_links.responses import respond_bytes
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.reading.reader import TableReader


class DerivedFileEndpoint:
    """Serves links that `DerivedLinks` signed.

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
        self._links = RecipientLinks(DerivedLink, SPACE, link_keys(keys), grants, clock)
        self._resolver = resolver
        self._reader = reader

    def route(self) -> Route:
        """The route. It must come before the route of file links."""
        address = f"/content/{SPACE}/{{link}}"
        return Route(address, self._fetch, methods=["GET", "HEAD"], name="derived")

    async def _fetch(self, request: Request) -> Response:
        principal, link = await self._links.open(request)
        shared = await self._resolver.table(principal, link.share, link.schema, link.table)
        table = await self._resolver.open(principal, shared)
        content = await self._reader.derived(table.source, table.directory, link.file)
        validators = Validators(f'"{link.digest}"')
        return respond_bytes(content, validators, request.method, request.headers)
