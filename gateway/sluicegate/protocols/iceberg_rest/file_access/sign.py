"""Signs requests of Iceberg clients for files of a shared table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio.to_thread
import pyarrow as pa
import pyarrow.compute as pc
from starlette.responses import Response

from sluicegate._util.lru import LRU
from sluicegate.api import Presigned
from sluicegate.audit.trail import note_issued
from sluicegate.http.responses import NOT_STORED, json_response
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.file_access.file_paths import BUCKET, FilePaths, ProvenFile
from sluicegate.protocols.iceberg_rest.file_access.generated_links import GeneratedLinks, is_generated
from sluicegate.protocols.iceberg_rest.file_access.sign_request import SignRequest, is_listing
from sluicegate.protocols.iceberg_rest.file_access.store_endpoint import LISTING
from sluicegate.protocols.presigning.signer import Offered, Signer
from sluicegate.tables.reading.reader import TableReader
from sluicegate.vending.ledger import UrlRecord

# Clients request a signature for each range of a file. Only the first one counts while its path is
# kept here, which takes about 300 bytes.
_COUNTED_PATHS = 50_000


class SignedFiles:
    """Counts each data file once for each path that it was issued under.

    A path proves that a recipient's view has the file, but not the file's size. The snapshot contains
    it. This costs a search through the snapshot's paths for each file, and only for these recipients.
    """

    def __init__(self, signer: Signer, reader: TableReader) -> None:
        self._signer = signer
        self._reader = reader
        self._counted: LRU[tuple[str, str], bool] = LRU(_COUNTED_PATHS)

    async def count(self, table: OpenTable, file: ProvenFile, key: str) -> None:
        """Count a file before a request for it is signed."""
        if not self._signer.limits_offers(table):
            return
        path = table.principal.id, key
        if self._counted.get(path):
            return
        snapshot = await self._reader.at_version(table.source, table.directory, file.version)
        files = snapshot.files.table
        size = await anyio.to_thread.run_sync(_size, files, file.path)
        if self._counted.get(path):  # a request for another range was faster
            return
        if size is not None:
            self._signer.offer(table, Offered(1, size))
        self._counted.put(path, True)


def _size(files: pa.Table, path: str) -> int | None:
    """The size of a data file. `None` for other files, such as deletion vectors."""
    row = pc.index(files.column("path"), path).as_py()
    return None if row < 0 else int(files.column("size")[row].as_py())


_SECONDS = 60
_KEPT = 10_000

_Key = tuple[str, str | None, str, str, str]


@dataclass(frozen=True, slots=True)
class _Recent:
    minute: int
    record: UrlRecord


class RecentRecords:
    """The records of recipients that currently read tables."""

    def __init__(self, start: Callable[[OpenTable], UrlRecord], clock: Callable[[], float]) -> None:
        self._start = start
        self._clock = clock
        self._recent: LRU[_Key, _Recent] = LRU(_KEPT)

    def of(self, table: OpenTable) -> UrlRecord:
        """The record of this minute for a table, its recipient, and the recipient's address."""
        shared, principal = table.shared, table.principal
        names = (principal.id, principal.address, shared.share_id, shared.id)
        key = (*names, table.source.location)
        minute = int(self._clock()) // _SECONDS
        recent = self._recent.get(key)
        if recent is None or recent.minute != minute:
            recent = _Recent(minute, self._start(table))
            self._recent.put(key, recent)
        return recent.record


# Java clients use a signature that is `private`, and nothing else, again for 30 seconds. The rest is
# for the request that they send at the end of that time.
_REUSABLE_FROM = 60.0  # seconds
_REUSABLE: Mapping[str, str] = {"Cache-Control": "private"}


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """The URL that a client sends its request to.

    Attributes:
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

    def verify(self, table: OpenTable, key: str) -> ProvenFile:
        """The file of a path in the clients' bucket."""
        return self._paths.verify(table.principal, table.shared, table.source, key)

    async def count(self, table: OpenTable, file: ProvenFile, key: str) -> None:
        """Count a data file before its content can be read, once for each path."""
        if self._files is not None and not is_generated(file.path):
            await self._files.count(table, file, key)

    def record(self, table: OpenTable) -> UrlRecord:
        """The ledger record of this minute; see `RecentRecords`."""
        return self._records.of(table)

    async def sign(self, table: OpenTable, body: Mapping[str, Any]) -> SignedRequest:
        """The URL for a request."""
        if is_listing(body, self._endpoint):  # answered with the reason why there is none
            return SignedRequest(f"{self._endpoint}/{BUCKET}/{LISTING}", reusable=False)
        request = SignRequest.parse(body, self._endpoint)
        file = self.verify(table, request.key)
        # Where a store does not check the method, a URL for HEAD also reads the file.
        if request.reads_content or not self._signer.binds_method(table, file.path):
            await self.count(table, file, request.key)
        record = self.record(table)
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
