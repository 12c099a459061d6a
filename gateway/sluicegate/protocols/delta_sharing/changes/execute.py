"""Executes requests for a range of versions: change data feeds, and streams of file changes.

All requests take the same path: resolve → range → commits → negotiate → sign → encode. Each step passes
its result to the next.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from sluicegate.api import Principal, SharedTable
from sluicegate.audit.trail import note_issued
from sluicegate.protocols.common.resolver import OpenTable, Resolver
from sluicegate.protocols.common.shared_scope import check_change_feed, check_history
from sluicegate.protocols.delta_sharing.changes.request import ChangesRequest
from sluicegate.protocols.delta_sharing.changes.stream import ChangeStream
from sluicegate.protocols.delta_sharing.changes.version_range import ChangeRanges, Position
from sluicegate.protocols.delta_sharing.changes.view import view_changes
from sluicegate.protocols.delta_sharing.encoding.ndjson import end_stream, ended
from sluicegate.protocols.delta_sharing.request import ResponseOptions
from sluicegate.protocols.delta_sharing.response import SharingResponse
from sluicegate.protocols.delta_sharing.view import table_headers
from sluicegate.protocols.presigning.signer import Signer
from sluicegate.tables.changes import TableState
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import Snapshot


class ChangeQueries:
    """Executes change data feeds ("Read Change Data Feed from a Table") and streaming queries."""

    def __init__(
        self, resolver: Resolver, reader: TableReader, signer: Signer, ranges: ChangeRanges
    ) -> None:
        self._resolver = resolver
        self._reader = reader
        self._signer = signer
        self._ranges = ranges

    async def answer(
        self, principal: Principal, shared: SharedTable, request: ChangesRequest, form: ResponseOptions
    ) -> SharingResponse:
        """Protocol, metadata, and the changed files of a range of versions.

        The first files are signed before the response starts. If a store cannot sign, the client gets
        an error instead of a broken stream.
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
        note_issued("urls", first_version=position.start, last_version=position.end)
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
        return SharingResponse(headers, ended(_all(head, lines), last if wanted else None))

    async def _newest(self, table: OpenTable, position: Position, latest: Snapshot) -> TableState:
        """Protocol and metadata of the newest version at the time when the first page was requested."""
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
