"""Executes requests for one version of a table, as headers and a stream of lines.

All requests take the same path: resolve → snapshot → negotiate → prune → sign → encode. Each step
passes its result to the next.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import anyio
import pyarrow as pa

from sluicegate.api import Principal, SharedTable
from sluicegate.protocols.delta_sharing.encoding.end_stream import end_stream, ended
from sluicegate.protocols.delta_sharing.presign import Signer
from sluicegate.protocols.delta_sharing.query.file_lines import FileLines
from sluicegate.protocols.delta_sharing.query.file_pages import page
from sluicegate.protocols.delta_sharing.query.prune import (
    BATCH_ROWS,
    FIRST_BATCH_ROWS,
    RowLimit,
    pruned,
)
from sluicegate.protocols.delta_sharing.query.tokens import Continuation, Continuations
from sluicegate.protocols.delta_sharing.request import QueryRequest, ResponseOptions, TimeTravel
from sluicegate.protocols.delta_sharing.response import SharingResponse
from sluicegate.protocols.delta_sharing.view import View, Viewer
from sluicegate.tables.snapshot import FileSet
from sluicegate.telemetry import span


@dataclass(frozen=True, slots=True)
class _Selection:
    """The files to return, in batches, and where the next page starts.

    Attributes:
        last_path: Set if there are more files after this page.
    """

    batches: Iterator[pa.Table]
    limit: RowLimit
    last_path: str | None = None


class TableQueries:
    """Executes metadata requests and snapshot queries."""

    def __init__(self, viewer: Viewer, signer: Signer, continuations: Continuations) -> None:
        self._viewer = viewer
        self._signer = signer
        self._continuations = continuations

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
        error instead of a broken stream.
        """
        start = self._continuations.start(principal, shared, request)
        view = await self._viewer.view(
            principal, shared, form, travel=request.travel, pinned=start.version
        )
        with span("prune"):
            files = await pruned(view.files, view.snapshot.metadata, request)
            selection = _select(files, request, start)
        lines = FileLines(self._signer, view)
        first = next(selection.batches, None)
        head = view.head() + (b"" if first is None else await lines.encode(first))

        def last() -> bytes:
            rest = self._rest(principal, shared, request, view, selection)
            return end_stream(**rest, expires_at=lines.expires_at)

        wanted = view.agreement.end_stream_action or request.wants_tokens
        body = ended(_stream(head, lines, selection.batches), last if wanted else None)
        return SharingResponse(view.headers(form), body)

    def _rest(
        self,
        principal: Principal,
        shared: SharedTable,
        request: QueryRequest,
        view: View,
        selection: _Selection,
    ) -> dict[str, str]:
        """The tokens for the last line."""
        version, tokens = view.snapshot.version, {}
        if selection.last_path is not None and not selection.limit.reached:
            rest = Continuation(version, selection.last_path, selection.limit.left)
            tokens["next_page_token"] = self._continuations.next_page(principal, shared, request, rest)
        if request.include_refresh_token:
            tokens["refresh_token"] = self._continuations.refresh(principal, shared, request, version)
        return tokens


def _select(files: FileSet, request: QueryRequest, start: Continuation) -> _Selection:
    limit = RowLimit(request.limit if start.rows_left is None else start.rows_left)
    if request.max_files is None and start.after is None:
        return _Selection(limit.cut(files.batches(BATCH_ROWS, first=FIRST_BATCH_ROWS)), limit)
    rows, more = page(files, start.after, request.max_files or len(files))
    last_path = rows.column("path")[-1].as_py() if more else None
    batches = (rows.slice(start, BATCH_ROWS) for start in range(0, rows.num_rows, BATCH_ROWS))
    return _Selection(limit.cut(batches), limit, last_path)


async def _stream(head: bytes, lines: FileLines, batches: Iterator[pa.Table]) -> AsyncIterator[bytes]:
    yield head
    for batch in batches:
        yield await lines.encode(batch)
        await anyio.lowlevel.checkpoint()  # a long response must not starve short ones
