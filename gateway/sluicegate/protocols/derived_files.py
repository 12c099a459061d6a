"""Serves links to derived files: verifies the recipient and the grant, and opens the table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.access.grants import Grants
from sluicegate.api.models import Presigned
from sluicegate.protocols.common.recipient_links import RecipientLink, RecipientLinks
from sluicegate.protocols.common.resolver import OpenTable, Resolver
from sluicegate.protocols.file_links import ContentLinks
from sluicegate.protocols.file_links.conditions import Validators
from sluicegate.protocols.file_links.responses import respond_bytes
from sluicegate.signing.keyring import KeyRing
from sluicegate.tables.derived_files import DerivedFile
from sluicegate.tables.reading.reader import TableReader

# Takes the place of a storage name in other links; no storage can have this name.
SPACE: Final = "~derived"
_PURPOSE = "derived file links"


@dataclass(frozen=True, slots=True)
class DerivedLink(RecipientLink):
    """The contents of a link."""

    digest: str
    recipe: str

    @classmethod
    def of(cls, table: OpenTable, file: DerivedFile) -> Self:
        """The link to a file for the recipient of a response."""
        principal, shared = table.principal, table.shared
        names = (principal.id, principal.name, shared.share, shared.schema, shared.name)
        return cls(*names, file.digest, file.recipe)

    @property
    def file(self) -> DerivedFile:
        """The file."""
        return DerivedFile(self.digest, self.recipe)


class DerivedLinks:
    """Signs links to derived files."""

    def __init__(self, keys: KeyRing, base_url: str) -> None:
        self._links = ContentLinks(link_keys(keys).signing, base_url, SPACE)

    def sign(self, table: OpenTable, files: Sequence[DerivedFile], expires_in: int) -> Presigned:
        """Links to files of an opened table for its recipient, in the order of `files`."""
        return self._links.sign([DerivedLink.of(table, file).path for file in files], expires_in)


def link_keys(keys: KeyRing) -> KeyRing:
    """The keys for these links, which are not valid for other links."""
    return keys.derive(_PURPOSE)


class DerivedFileEndpoint:
    """Serves links that `DerivedLinks` signed.

    The table is opened for the recipient again, with newly vended credentials. A link therefore stops
    working when the grant or the recipient is removed, if it has not expired before.
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
