"""Opens links to derived files: the recipient, its grant, the table, then the bytes."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.access.admission import admit
from sluicegate.access.grants import Grants
from sluicegate.content import verify
from sluicegate.content.answers import respond_bytes
from sluicegate.content.conditions import Validators
from sluicegate.doors.resolve import Resolver
from sluicegate.errors import PermissionDenied, Unauthenticated
from sluicegate.keyring import KeyRing
from sluicegate.nouns import Principal
from sluicegate.sharing.derived_links import SPACE, DerivedLink, link_keys
from sluicegate.tables.reader import TableReader
from sluicegate.telemetry import name_recipient

_METHOD = "link"


class DerivedDoor:
    """Serves what `DerivedLinks` signed: the link is the credential, without a bearer token.

    The table is opened for the recipient anew, with what its catalog vends now. So a link ends with the
    grant or the recipient, if it has not expired before.

    Args:
        keys: The gateway's.
        grants: Where recipients are looked up.
        resolver: Finds and opens the table.
        reader: Has the table's format make the file.
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
        """The route, which has to stand before that of the content door."""
        address = f"/content/{SPACE}/{{link}}"
        return Route(address, self._fetch, methods=["GET", "HEAD"], name="derived")

    async def _fetch(self, request: Request) -> Response:
        path = request.path_params["link"]
        verify(self._keys, SPACE, path, request.url.query, self._clock())
        link = DerivedLink.parse(path)
        principal = await self._principal(link, request.client and request.client.host)
        name_recipient(principal.name)
        shared = await self._resolver.table(principal, link.share, link.schema, link.table)
        table = await self._resolver.open(principal, shared)
        content = await self._reader.derived(table.source, table.directory, link.file)
        validators = Validators(f'"{link.digest}"')
        return respond_bytes(content, validators, request.method, request.headers)

    async def _principal(self, link: DerivedLink, address: str | None) -> Principal:
        """The recipient, if it is let in now.

        Raises:
            PermissionDenied: It was revoked or removed, or may not call from this address.
        """
        record = await self._grants.recipient(link.recipient)
        if record is None or record.id != link.recipient_id:
            raise PermissionDenied("the recipient of this link does not exist any more")
        try:
            return admit(record, _METHOD, address)
        except Unauthenticated as error:
            raise PermissionDenied(error.message) from error
