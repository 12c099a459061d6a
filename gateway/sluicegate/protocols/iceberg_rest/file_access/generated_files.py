"""Serves links to generated files of views: verifies the recipient and the grant, and caches files."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Self

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from sluicegate._util.lru import LRU
from sluicegate._util.singleflight import SingleFlight
from sluicegate.access.grants import Grants
from sluicegate.api import (
    CatalogTable,
    InvalidRequest,
    NotFound,
    Principal,
    SharedTable,
    TableUnreadable,
)
from sluicegate.http.responses import log_error
from sluicegate.protocols.common.iceberg_eligibility import check_urls
from sluicegate.protocols.common.recipient_links import RecipientLinks
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.common.shared_scope import check_version
from sluicegate.protocols.file_links.conditions import Validators
from sluicegate.protocols.file_links.responses import respond_bytes
from sluicegate.protocols.iceberg_rest.fair_limiter import FairLimiter
from sluicegate.protocols.iceberg_rest.file_access.file_paths import ProvenFile, view_identity
from sluicegate.protocols.iceberg_rest.file_access.generated_links import (
    SPACE,
    GeneratedLink,
    link_keys,
)
from sluicegate.protocols.iceberg_rest.file_access.store_endpoint import REFUSED, store_error
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.signing.keyring import KeyRing
from sluicegate.telemetry import span

_KEPT_BYTES = 64 << 20
_MADE_AT_ONCE = 3
_MADE_FOR_ONE = 2
_TIMEOUT = 30.0  # seconds
_REFUSAL = "too many concurrent reads of such files; try again later"

Generate = Callable[[IcebergView, str], Awaitable[bytes]]
"""Returns the bytes of a file of a view by its name. The same view has the same bytes.

It raises `NotFound` if the view has no such file.
"""


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """The bytes of a file, and their SHA-256, hexadecimal."""

    content: bytes
    digest: str

    @classmethod
    def of(cls, content: bytes) -> Self:
        """The file with these bytes."""
        return cls(content, hashlib.sha256(content).hexdigest())


class GeneratedFiles:
    """Generates files, a few at a time and each only once for concurrent requests.

    Clients read a file in several ranges.
    """

    def __init__(
        self,
        generate: Generate,
        kept_bytes: int = _KEPT_BYTES,
        at_once: int = _MADE_AT_ONCE,
        for_one: int = _MADE_FOR_ONE,
        timeout: float = _TIMEOUT,
    ) -> None:
        self._generate = generate
        self._kept: LRU[Hashable, GeneratedFile] = LRU(kept_bytes, lambda file: len(file.content))
        self._flights: SingleFlight[GeneratedFile] = SingleFlight()
        self._turns = FairLimiter(at_once, for_one, timeout, _REFUSAL)

    async def get(
        self,
        recipient: str,
        key: Hashable,
        name: str,
        view: Callable[[], Awaitable[IcebergView]],
    ) -> GeneratedFile:
        """A file."""
        kept = self._kept.get(key)
        if kept is None:
            kept = await self._flights.run(key, lambda: self._made(recipient, key, name, view))
        return kept

    async def aclose(self) -> None:
        """Cancel the files that are being generated."""
        await self._flights.aclose()

    async def _made(
        self,
        recipient: str,
        key: Hashable,
        name: str,
        view: Callable[[], Awaitable[IcebergView]],
    ) -> GeneratedFile:
        async with self._turns.hold(recipient):
            with span("iceberg.generate"):
                content = await self._generate(await view(), name)
                made = await anyio.to_thread.run_sync(GeneratedFile.of, content)
        self._kept.put(key, made)
        return made


ViewAt = Callable[[Principal, SharedTable, int, int], Awaitable[IcebergView]]
"""Builds a recipient's view of a shared table, at a version, with paths of a time of issue (epoch
seconds)."""


class GeneratedFileEndpoint:
    """Serves links that `GeneratedLinks` signed.

    The recipient, the grant and the limits of the share are checked again for each request. A link
    therefore stops working when one of them is removed, if it has not expired before.
    """

    def __init__(
        self,
        keys: KeyRing,
        grants: Grants,
        resolver: Resolver,
        view_at: ViewAt,
        files: GeneratedFiles,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._links = RecipientLinks(GeneratedLink, SPACE, link_keys(keys), grants, clock)
        self._resolver = resolver
        self._view_at = view_at
        self._files = files

    async def fetch(self, request: Request) -> Response:
        """The file of a link, or why there is none."""
        principal, link = await self._links.open(request)
        try:
            file = await self._file(principal, link)
        except (InvalidRequest, NotFound, TableUnreadable) as error:
            log_error(error)
            return store_error(REFUSED, error.message, error.status, request.method)
        validators = Validators(f'"{file.digest}"')
        return respond_bytes(file.content, validators, request.method, request.headers)

    async def _file(self, principal: Principal, link: GeneratedLink) -> GeneratedFile:
        shared = await self._resolver.table(principal, link.share, link.schema, link.table)
        if shared.id != link.table_id:
            raise NotFound(f"the table of this link no longer exists: load {shared.full_name} again")
        check_urls(shared)
        check_version(shared, link.version)
        source = await self._resolver.locate(shared)
        file = ProvenFile(link.name, link.version, link.issued_at)
        return await self.of_view(principal, shared, source, file)

    async def of_view(
        self, principal: Principal, shared: SharedTable, source: CatalogTable, file: ProvenFile
    ) -> GeneratedFile:
        """A generated file of a recipient's view."""
        view = view_identity(principal, shared, source)
        return await self._files.get(
            principal.id,
            (view, file.version, file.issued_at, file.path),
            file.path,
            lambda: self._view_at(principal, shared, file.version, file.issued_at),
        )
