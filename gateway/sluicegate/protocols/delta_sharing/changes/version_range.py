"""Resolves the version range of a stream or change feed request, and where its pages continue."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sluicegate.api import InvalidRequest, Principal, SharedTable
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.common.shared_scope import check_version
from sluicegate.protocols.delta_sharing.changes.request import Bound, ChangesRequest
from sluicegate.protocols.delta_sharing.query.tokens import bound_to
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader
from sluicegate.tables.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Position:
    """A range of versions, and the next file action in it."""

    start: int
    end: int
    latest: int
    version: int
    index: int


class ChangeRanges:
    """Finds the range of a request, for its first page and for later ones."""

    def __init__(self, reader: TableReader, tokens: TokenSigner) -> None:
        self._reader = reader
        self._tokens = tokens

    async def position(
        self, principal: Principal, table: OpenTable, request: ChangesRequest, latest: Snapshot
    ) -> Position:
        """Return the position at which a request starts."""
        position = self._continued(principal, table.shared, request)
        if position is None:
            start = await self._start(table, request.start, latest)
            end = await self._end(table, request, start, latest)
            position = Position(start, end, latest.version, start, 0)
        check_version(table.shared, position.start)
        return position

    def next_page(
        self, principal: Principal, shared: SharedTable, request: ChangesRequest, rest: Position
    ) -> str:
        """The token of the page that continues at a position."""
        return self._tokens.sign(asdict(rest), bound_to=_bound(principal, shared, request))

    def _continued(
        self, principal: Principal, shared: SharedTable, request: ChangesRequest
    ) -> Position | None:
        if request.page_token is None:
            return None
        bound = _bound(principal, shared, request)
        return Position(
            **self._tokens.verify(request.page_token, bound_to=bound, parameter="pageToken")
        )

    async def _start(self, table: OpenTable, bound: Bound, latest: Snapshot) -> int:
        start = bound.version or 0
        if bound.timestamp is not None:
            version = await self._reader.version_at(
                table.source, table.directory, bound.timestamp, earliest_after=True
            )
            start = max(version, table.shared.start_version)
        if start > latest.version:
            raise InvalidRequest(
                f"startingVersion {start} is beyond the latest version of the table, {latest.version}"
            )
        return start

    async def _end(
        self, table: OpenTable, request: ChangesRequest, start: int, latest: Snapshot
    ) -> int:
        end = await self._wanted_end(table, request.end, latest)
        if end < start:
            raise InvalidRequest(f"the range ends at version {end}, before it starts at {start}")
        if end > latest.version and request.what == "data":
            raise InvalidRequest(
                f"endingVersion {end} is beyond the latest version of the table, {latest.version}"
            )
        return min(end, latest.version)

    async def _wanted_end(self, table: OpenTable, bound: Bound, latest: Snapshot) -> int:
        if bound.version is not None:
            return bound.version
        if bound.timestamp is None or bound.timestamp >= latest.timestamp:
            return latest.version
        return await self._reader.version_at(
            table.source, table.directory, bound.timestamp, earliest_after=False
        )


def _bound(principal: Principal, shared: SharedTable, request: ChangesRequest) -> str:
    # Tokens of earlier releases also counted hidden actions: they would continue at another file.
    return bound_to(principal, shared, ("shared actions", *request.identity))
