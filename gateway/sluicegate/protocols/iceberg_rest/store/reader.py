"""Reads files for recipients, with the same checks as signed requests."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.responses import Response

from sluicegate.api import NotFound
from sluicegate.audit.trail import note_issued, note_repetition
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.file_links.conditions import Validators
from sluicegate.protocols.file_links.responses import respond_bytes
from sluicegate.protocols.file_links.routes import respond
from sluicegate.protocols.iceberg_rest.fair_limiter import FairLimiter
from sluicegate.protocols.iceberg_rest.file_access.file_paths import ProvenFile
from sluicegate.protocols.iceberg_rest.file_access.generated_files import GeneratedFileEndpoint
from sluicegate.protocols.iceberg_rest.file_access.generated_links import is_generated
from sluicegate.protocols.iceberg_rest.file_access.sign import RequestSigner
from sluicegate.protocols.iceberg_rest.file_access.store_endpoint import MISSING_FILE
from sluicegate.protocols.iceberg_rest.file_access.table_files import TableFiles
from sluicegate.protocols.iceberg_rest.store.recent_reads import RecentReads

# A stream has at most two chunks of 1 MiB in memory.
_STREAMS = 64
_STREAMS_FOR_ONE = 32
_TIMEOUT = 10.0  # seconds
_REFUSAL = "too many files are read at the same time; try again later"


class FileReader:
    """Reads files whose paths prove that the recipient's view has them."""

    def __init__(
        self,
        signer: RequestSigner,
        generated: GeneratedFileEndpoint,
        stored: TableFiles,
        clock: Callable[[], float] = time.time,
        streams: FairLimiter | None = None,
    ) -> None:
        self._signer = signer
        self._generated = generated
        self._stored = stored
        self._clock = clock
        self._streams = streams or FairLimiter(_STREAMS, _STREAMS_FOR_ONE, _TIMEOUT, _REFUSAL)
        self.recent = RecentReads(clock)

    def turn(self, recipient: str, method: str) -> AbstractAsyncContextManager[None]:
        """A turn for the content of a file, which the caller holds until it is sent."""
        return self._streams.hold(recipient) if method == "GET" else _no_turn()

    async def read(
        self, table: OpenTable, key: str, read: bytes, method: str, headers: Mapping[str, str]
    ) -> Response:
        """The response to a GET or HEAD of a file.

        Args:
            read: What identifies the read; the caller adds it to `recent` when its record is stored.
        """
        file = self._signer.verify(table, key)
        if method == "GET":
            await self._signer.count(table, file, key)
        response = await self._content(table, file, method, headers)
        if response.status_code < 400:
            self._record(table, file, read)
        return response

    def _record(self, table: OpenTable, file: ProvenFile, read: bytes) -> None:
        if self.recent.covers(read):
            note_repetition()
            return
        self._signer.record(table).add(1, int(self._clock() * 1000))
        note_issued("file", version=file.version, file=file.path)

    async def _content(
        self, table: OpenTable, file: ProvenFile, method: str, headers: Mapping[str, str]
    ) -> Response:
        if is_generated(file.path):
            made = await self._generated.of_view(table.principal, table.shared, table.source, file)
            return respond_bytes(made.content, Validators(f'"{made.digest}"'), method, headers)
        directory, name = await self._stored.proven(table, file.path)
        try:
            return await respond(directory.store, directory.key(name), method, headers)
        except NotFound as error:
            raise NotFound(MISSING_FILE) from error


@asynccontextmanager
async def _no_turn() -> AsyncIterator[None]:
    yield
