"""Answers about a range of versions: change data feeds, and streams of added and removed files.

The one way: resolve → range → commits → negotiate → sign → encode. Each step hands its value on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from sluicegate.api import Principal, SharedTable
from sluicegate.doors.resolve import OpenTable, Resolver
from sluicegate.sharing.answer import Answer
from sluicegate.sharing.change_question import ChangesRequest
from sluicegate.sharing.change_range import ChangeRanges, Position
from sluicegate.sharing.change_stream import ChangeStream
from sluicegate.sharing.change_view import view_changes
from sluicegate.sharing.end_stream import end_stream, ended
from sluicegate.sharing.limits import check_change_feed, check_history
from sluicegate.sharing.question import Form
from sluicegate.sharing.signing import Signer
from sluicegate.sharing.view import table_headers
from sluicegate.tables.changes import TableState
from sluicegate.tables.reader import TableReader
from sluicegate.tables.snapshot import Snapshot


class ChangeAnswers:
    """Answers change data feeds ("Read Change Data Feed from a Table") and streaming queries."""

    def __init__(
        self, resolver: Resolver, reader: TableReader, signer: Signer, ranges: ChangeRanges
    ) -> None:
        self._resolver = resolver
        self._reader = reader
        self._signer = signer
        self._ranges = ranges

    async def answer(
        self, principal: Principal, shared: SharedTable, request: ChangesRequest, form: Form
    ) -> Answer:
        """Protocol, metadata and the changed files of a range of versions.

        The first files are signed before anything is answered, so that a store that cannot sign is an
        error of its own and not a broken stream.
        """
        _check_shared(shared, request)
        table = await self._resolver.open(principal, shared)
        latest = await self._reader.latest(table.source, table.directory)
        position = await self._ranges.position(principal, table, request, latest)
        changes = await self._reader.changes(
            table.source, table.directory, latest, position.start, position.end
        )
        newest = await self._newest(table, position, latest)
        view = view_changes(principal, table, request, form, changes, newest)
        stream = ChangeStream(view, self._signer, position)
        lines = stream.lines()
        head = view.head() + await anext(lines)

        def last() -> bytes:
            rest = stream.rest
            token = None
            if rest is not None:
                token = self._ranges.next_page(principal, shared, request, rest)
            return end_stream(next_page_token=token, expires_at=stream.expires_at)

        wanted = view.agreement.end_stream_action or request.wants_tokens
        headers = table_headers(position.start, view.agreement, form)
        return Answer(headers, ended(_all(head, lines), last if wanted else None))

    async def _newest(self, table: OpenTable, position: Position, latest: Snapshot) -> TableState:
        """Protocol and metadata of the newest version when the first page was asked for."""
        version = position.latest
        if version == latest.version:
            return TableState(version, latest.protocol, latest.metadata)
        changes = await self._reader.changes(table.source, table.directory, latest, version, version)
        return changes.start


def _check_shared(shared: SharedTable, request: ChangesRequest) -> None:
    if request.what == "data":
        check_history(shared, "startingVersion")
    else:
        check_history(shared, "the change data feed")
        check_change_feed(shared)


async def _all(head: bytes, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for part in lines:
        if part:
            yield part
