"""Answers about one version of a table, as headers and a stream of lines.

The one way: resolve → snapshot → negotiate → prune → sign → encode. Each step hands its value on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import anyio
import pyarrow as pa

from sluicegate.api import Principal, SharedTable
from sluicegate.sharing.answer import Answer
from sluicegate.sharing.continuation import Continuation, Continuations
from sluicegate.sharing.end_stream import end_stream, ended
from sluicegate.sharing.file_lines import FileLines
from sluicegate.sharing.pages import page
from sluicegate.sharing.prune import BATCH_ROWS, FIRST_BATCH_ROWS, RowLimit, pruned
from sluicegate.sharing.question import Form, QueryRequest, Travel
from sluicegate.sharing.signing import Signer
from sluicegate.sharing.view import View, Viewer
from sluicegate.tables.snapshot import FileSet
from sluicegate.telemetry import span


@dataclass(frozen=True, slots=True)
class _Selection:
    """Which files are answered, in batches, and where the next page starts.

    Attributes:
        last_path: Set when there are more files behind this page.
    """

    batches: Iterator[pa.Table]
    limit: RowLimit
    last_path: str | None = None


class TableAnswers:
    """Answers metadata and snapshot queries."""

    def __init__(self, viewer: Viewer, signer: Signer, continuations: Continuations) -> None:
        self._viewer = viewer
        self._signer = signer
        self._continuations = continuations

    async def metadata(
        self, principal: Principal, shared: SharedTable, travel: Travel, form: Form
    ) -> Answer:
        """Protocol and metadata ("Query Table Metadata").

        Exactly two lines, also where the client would take a third (since-the-seed.md, "What clients
        depend on").
        """
        view = await self._viewer.view(
            principal, shared, form.without_end(), travel=travel, metadata=True
        )
        return Answer.whole(view.headers(form), view.head())

    async def query(
        self, principal: Principal, shared: SharedTable, request: QueryRequest, form: Form
    ) -> Answer:
        """Protocol, metadata and the files of one version ("Read Data from a Table").

        The first batch is signed before anything is answered, so that a store that cannot sign is an
        error of its own and not a broken stream.
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
        return Answer(view.headers(form), body)

    def _rest(
        self,
        principal: Principal,
        shared: SharedTable,
        request: QueryRequest,
        view: View,
        selection: _Selection,
    ) -> dict[str, str]:
        """The tokens that the last line carries."""
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
        await anyio.lowlevel.checkpoint()  # a long answer must not starve the short ones
