"""Serves links to generated files: verifies the recipient and the grant, and builds the view."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from sluicegate.access.grants import Grants
from sluicegate.api import InvalidRequest, NotFound, Principal, SharedTable, TableUnreadable
from sluicegate.http.responses import log_error
from sluicegate.protocols.common.iceberg_eligibility import check_urls
from sluicegate.protocols.common.recipient_links import RecipientLinks
from sluicegate.protocols.common.resolver import Resolver
from sluicegate.protocols.common.shared_scope import check_version
from sluicegate.protocols.file_links.conditions import Validators
from sluicegate.protocols.file_links.responses import respond_bytes
from sluicegate.protocols.iceberg_rest.file_access.file_paths import view_identity
from sluicegate.protocols.iceberg_rest.file_access.generated_files import GeneratedFile, GeneratedFiles
from sluicegate.protocols.iceberg_rest.file_access.generated_links import (
    SPACE,
    GeneratedLink,
    link_keys,
)
from sluicegate.protocols.iceberg_rest.file_access.store_errors import REFUSED, store_error
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.signing.keyring import KeyRing

ViewAt = Callable[[Principal, SharedTable, int, int], Awaitable[IcebergView]]
"""Builds a recipient's view of a shared table, at a version, with paths of a time of issue (epoch
seconds)."""


class GeneratedFileEndpoint:
    """Serves links that `GeneratedLinks` signed.

    The recipient, the grant and the limits of the share are checked again for each request. A link
    therefore stops working when one of them is removed, if it has not expired before.

    Args:
        keys: The gateway's keys.
        grants: Looks up recipients.
        resolver: Finds the table.
        view_at: Builds the view.
        files: Generates and caches files.
        clock: Seconds since the epoch.
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
        """The file of a link, or why there is none.

        Raises:
            PermissionDenied: The link is not valid, or the recipient no longer has access.
            Unavailable: The file cannot be made now.
            RateLimited: The recipient has sent too many requests.
        """
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
        view = view_identity(principal, shared, source)
        return await self._files.get(
            principal.id,
            (view, link.version, link.issued_at, link.name),
            link.name,
            lambda: self._view_at(principal, shared, link.version, link.issued_at),
        )
