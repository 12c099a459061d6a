"""Executes requests for one version of a table, as headers and a stream of lines.

All requests take the same path: resolve → snapshot → negotiate → prune → sign → encode. Each step
passes its result to the next. If the cache has an equal response, the last three are skipped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pyarrow as pa

from sluicegate.api import Principal, SharedTable, Unavailable
from sluicegate.audit.trail import is_recorded, note_issued
from sluicegate.http.compression import BodyEncoder, coded_headers
from sluicegate.protocols.delta_sharing.encoding.ndjson import end_stream, ended
from sluicegate.protocols.delta_sharing.query.file_lines import FileLines
from sluicegate.protocols.delta_sharing.query.response_cache import (
    CachedResponse,
    EncodedFiles,
    Recording,
    ResponseCache,
)
from sluicegate.protocols.delta_sharing.query.response_key import ResponseKeys
from sluicegate.protocols.delta_sharing.query.selection import FileSelection, pruned, select
from sluicegate.protocols.delta_sharing.query.tokens import Continuation, Continuations
from sluicegate.protocols.delta_sharing.request import QueryRequest, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.response import SharingResponse
from sluicegate.protocols.delta_sharing.view import View, Viewer
from sluicegate.protocols.presigning.signer import NO_FILES, Offered, Signer
from sluicegate.tables.reading.encoded_blocks import EncodedBlocks
from sluicegate.tables.snapshot import FileBlock
from sluicegate.tables.snapshot_index.failures import IndexUnusable
from sluicegate.telemetry import span

# Each reads a part of an index, which takes about 20 MB.
_INDEX_THREADS = 4


class TableQueries:
    """Executes metadata requests and snapshot queries."""

    def __init__(
        self,
        viewer: Viewer,
        signer: Signer,
        continuations: Continuations,
        cache: ResponseCache,
        encoded: EncodedBlocks,
    ) -> None:
        self._viewer = viewer
        self._signer = signer
        self._continuations = continuations
        self._cache = cache
        self._encoded_blocks = encoded
        self._index_threads = anyio.CapacityLimiter(_INDEX_THREADS)

    async def metadata(
        self, principal: Principal, shared: SharedTable, travel: TimeTravel, form: ResponseOptions
    ) -> SharingResponse:
        """Protocol and metadata ("Query Table Metadata").

        Exactly two lines, even if the client would accept a third one (docs/interop.md, "What clients
        depend on").
        """
        view = await self._viewer.view(
            principal, shared, form.without_end(), travel=travel, metadata=True
        )
        return SharingResponse.whole(view.headers(form), view.head())

    async def load(self, principal: Principal, shared: SharedTable, request: QueryRequest) -> None:
        """Load the snapshot of a query, so that executing it has nothing to wait for."""
        await self._viewer.load(principal, shared, request.travel)

    async def query(
        self, principal: Principal, shared: SharedTable, request: QueryRequest, form: ResponseOptions
    ) -> SharingResponse:
        """Protocol, metadata, and the files of one version ("Read Data from a Table").

        The first batch is signed before the response starts. If a store cannot sign, the client gets an
        error instead of a broken stream. A refresh token always gets new URLs.
        """
        start = self._continuations.start(principal, shared, request)
        try:
            return await self._answered(principal, shared, request, form, start, with_index=True)
        except IndexUnusable:
            return await self._answered(principal, shared, request, form, start, with_index=False)

    async def _answered(
        self,
        principal: Principal,
        shared: SharedTable,
        request: QueryRequest,
        form: ResponseOptions,
        start: Continuation,
        *,
        with_index: bool,
    ) -> SharingResponse:
        """A cached or new response, from the table's index or from its log."""
        view = await self._viewer.view(
            principal,
            shared,
            form,
            travel=request.travel,
            pinned=start.version,
            with_index=with_index,
        )
        keys = self._cache.keys(view, request, start, form.content_coding)
        cached = None
        if keys is not None and request.refresh_token is None:
            cached = self._cache.get(keys, view.snapshot)
        if cached is not None:
            return self._repeated(view, request, form, cached)
        try:
            return await self._made(view, request, form, start, keys)
        except IndexUnusable as error:
            await self._viewer.distrust_index(view.table, error)
            raise

    async def _made(
        self,
        view: View,
        request: QueryRequest,
        form: ResponseOptions,
        start: Continuation,
        keys: ResponseKeys | None,
    ) -> SharingResponse:
        """A new response. It is encoded here only if it can be cached."""
        recording = Recording(self._cache, keys, view.snapshot)
        with span("prune"):
            files = await pruned(
                view.files, view.snapshot.metadata, request, start, self._index_threads
            )
            selection = select(files, request, start)
            first = await selection.next_batch(self._index_threads)
        total = None
        if is_recorded() or self._signer.limits_offers(view.table):
            total = selection.total()
        _note_offered(view, total)
        shareable = keys is not None and keys.shared is not None
        lines = FileLines(self._signer, view, self._encoded_blocks, total, shareable=shareable)
        head = view.head() + (b"" if first is None else await lines.encode(first))
        coding = None if keys is None else form.content_coding
        encoder = BodyEncoder(coding)

        def next_page() -> Continuation | None:
            return selection.next_page(view.snapshot.version)

        def last() -> bytes:
            return self._last(view, request, next_page(), lines.expires_at)

        parts = recording.record(
            self._encoded(view, head, lines, selection, encoder),
            lambda: EncodedFiles(encoder.end, lines.issued, next_page(), lines.offered),
        )
        body = ended(parts, last if _has_last(view, request) else None, encoder.finish)
        headers = view.headers(form) | ({} if keys is None else coded_headers(coding))
        return SharingResponse(headers, body)

    async def _encoded(
        self,
        view: View,
        head: bytes,
        lines: FileLines,
        selection: FileSelection,
        encoder: BodyEncoder,
    ) -> AsyncIterator[bytes]:
        yield await encoder.part(head)
        while (batch := await self._next_batch(view, selection)) is not None:
            yield await encoder.part(await lines.encode(batch))
            await anyio.lowlevel.checkpoint()  # a long response must not starve short ones

    async def _next_batch(self, view: View, selection: FileSelection) -> pa.Table | FileBlock | None:
        try:
            return await selection.next_batch(self._index_threads)
        except IndexUnusable as error:
            # Files from the log, whose order differs, cannot continue the response.
            await self._viewer.distrust_index(view.table, error)
            raise Unavailable(
                "a part of the table's index is damaged: send the request again"
            ) from error

    def _repeated(
        self, view: View, request: QueryRequest, form: ResponseOptions, cached: CachedResponse
    ) -> SharingResponse:
        """A cached response, recorded in the ledger as a new one would be, with new tokens."""
        outcome = cached.outcome
        _note_offered(view, outcome.offered)
        self._signer.offer(view.table, outcome.offered)
        self._signer.record_again(view.table, outcome.issued, cached.issued_at)
        tail = b""
        if _has_last(view, request):
            tail = self._last(view, request, outcome.next_page, outcome.issued.first_expiry)
        end = outcome.end.finish(tail)
        headers = view.headers(form) | coded_headers(outcome.end.coding)
        headers["Content-Length"] = str(sum(map(len, cached.parts)) + len(end))
        return SharingResponse(headers, _each(*cached.parts, end))

    def _last(
        self,
        view: View,
        request: QueryRequest,
        next_page: Continuation | None,
        expires_at: int | None,
    ) -> bytes:
        """The last line, with the tokens for this recipient."""
        principal, shared, tokens = view.table.principal, view.table.shared, {}
        if next_page is not None:
            tokens["next_page_token"] = self._continuations.next_page(
                principal, shared, request, next_page
            )
        if request.include_refresh_token:
            tokens["refresh_token"] = self._continuations.refresh(
                principal, shared, request, view.snapshot.version
            )
        return end_stream(**tokens, expires_at=expires_at)


def _has_last(view: View, request: QueryRequest) -> bool:
    return view.agreement.end_stream_action or request.wants_tokens


def _note_offered(view: View, offered: Offered | None) -> None:
    """Contribute the planned files to the audit record. A `limitHint` decides while they are sent."""
    version = view.snapshot.version
    if offered is None:
        most = Offered(len(view.files), view.files.size) if is_recorded() else NO_FILES
        note_issued("urls", version=version, most_files=most.files, most_bytes=most.size)
    else:
        note_issued("urls", version=version, files=offered.files, bytes=offered.size)


async def _each(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        if part:
            yield part
            await anyio.lowlevel.checkpoint()
