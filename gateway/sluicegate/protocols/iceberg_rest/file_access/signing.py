"""Signs requests of Iceberg clients for files of a shared table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from sluicegate.api import Presigned
from sluicegate.audit.trail import note_issued
from sluicegate.http.responses import NOT_STORED, json_response
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.file_access.file_paths import FilePaths, ProvenFile
from sluicegate.protocols.iceberg_rest.file_access.generated_links import GeneratedLinks
from sluicegate.protocols.iceberg_rest.file_access.generated_names import is_generated
from sluicegate.protocols.iceberg_rest.file_access.object_keys import BUCKET
from sluicegate.protocols.iceberg_rest.file_access.recent_records import RecentRecords
from sluicegate.protocols.iceberg_rest.file_access.sign_request import SignRequest, is_listing
from sluicegate.protocols.iceberg_rest.file_access.signed_files import SignedFiles
from sluicegate.protocols.iceberg_rest.file_access.store_route import LISTING
from sluicegate.protocols.presigning.signer import Signer

# Java clients use a signature that is `private`, and nothing else, again for 30 seconds. The rest is
# for the request that they send at the end of that time.
_REUSABLE_FROM = 60.0  # seconds
_REUSABLE: Mapping[str, str] = {"Cache-Control": "private"}


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """The URL that a client sends its request to.

    Attributes:
        uri: Any range of the file can be read from it.
        reusable: Whether the URL is valid for so long that clients can use it again.
    """

    uri: str
    reusable: bool

    def response(self) -> Response:
        """A RemoteSignResult. Clients keep the headers of their request, and add none."""
        headers = _REUSABLE if self.reusable else NOT_STORED
        return json_response({"uri": self.uri, "headers": {}}, headers=headers)


class RequestSigner:
    """Answers requests to sign.

    The cost of a signature does not depend on the size of the table: the path in a request proves that
    the recipient's view has the file.

    Args:
        paths: Verifies paths.
        signer: Presigns files in stores.
        links: Signs links to generated files.
        endpoint: The address that clients take for an object store; see `store_endpoint`.
        clock: Seconds since the epoch.
        files: Counts data files, if recipients can have a limit of them.
    """

    def __init__(
        self,
        paths: FilePaths,
        signer: Signer,
        links: GeneratedLinks,
        endpoint: str,
        clock: Callable[[], float] = time.time,
        files: SignedFiles | None = None,
    ) -> None:
        self._paths = paths
        self._signer = signer
        self._links = links
        self._endpoint = endpoint
        self._records = RecentRecords(signer.record, clock)
        self._clock = clock
        self._files = files

    async def sign(self, table: OpenTable, body: Mapping[str, Any]) -> SignedRequest:
        """The URL for a request.

        Args:
            table: The table that the recipient named, with the recipient's current access.
            body: A RemoteSignRequest.

        Raises:
            InvalidRequest: The body is not a RemoteSignRequest.
            PermissionDenied: The recipient is not allowed to send this request to the store.
            UnsupportedOperation: The file is at a location that the table is not allowed to use.
            StorageError: The store cannot sign now.
            RateLimited: The recipient would get more than it is allowed to get in a day.
        """
        if is_listing(body, self._endpoint):  # answered with the reason why there is none
            return SignedRequest(f"{self._endpoint}/{BUCKET}/{LISTING}", reusable=False)
        request = SignRequest.parse(body, self._endpoint)
        file = self._paths.verify(table.principal, table.shared, table.source, request.key)
        if (
            self._files is not None
            and not is_generated(file.path)
            # Where a store does not check the method, a URL for HEAD also reads the file.
            and (request.reads_content or not self._signer.binds_method(table, file.path))
        ):
            await self._files.count(table, file, request.key)
        record = self._records.of(table)
        signed = await self._signed(table, request, file, record.label)
        record.add(1, signed.expires_at)
        note_issued("signed request", version=file.version, file=file.path)
        reusable = signed.expires_at / 1000 - self._clock() >= _REUSABLE_FROM
        return SignedRequest(signed.urls[0], reusable)

    async def _signed(
        self, table: OpenTable, request: SignRequest, file: ProvenFile, label: str
    ) -> Presigned:
        if is_generated(file.path):
            return self._links.sign(table.principal, table.shared, file)
        labelled = replace(request.object_request, label=label)
        return await self._signer.presign_request(table, labelled, [file.path])
