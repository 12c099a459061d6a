"""The body of a stream or change feed: commits one after the other, until the page is full."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import anyio

from sluicegate.sharing import change_lines
from sluicegate.sharing.change_range import Position
from sluicegate.sharing.change_rows import RowGroup, SharedRows
from sluicegate.sharing.change_view import ChangeView
from sluicegate.sharing.prune import BATCH_ROWS, FIRST_BATCH_ROWS
from sluicegate.sharing.signing import Signer
from sluicegate.sharing.urls import Urls
from sluicegate.sharing.values import texts


class ChangeStream:
    """Makes the lines of one page.

    Attributes:
        rest: Where the next page goes on, once `lines` came to its end; `None` where nothing is left.
    """

    def __init__(self, view: ChangeView, signer: Signer, position: Position) -> None:
        self.rest: Position | None = None
        self._view = view
        self._urls = Urls(signer, view.table)
        self._position = position
        self._max_files = view.request.max_files
        self._files = 0

    @property
    def expires_at(self) -> int | None:
        """When the first URL so far expires, epoch milliseconds; `None` before any."""
        return self._urls.expires_at

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines behind the head, in parts.

        Raises:
            StorageError: Nothing can be signed now.
            TableUnreadable: A deletion vector's descriptor is malformed.
            Unavailable: The log was cleaned up meanwhile.
        """
        view, position, group = self._view, self._position, RowGroup(FIRST_BATCH_ROWS)
        async for commit, files in view.changes.files(view.request.what, since=position.version):
            goes_on = commit.version == position.version
            if not goes_on and (history := view.lines_of(commit)):
                yield await self._encode(group) + history
                group = RowGroup(BATCH_ROWS)
            first = position.index if goes_on else 0
            rows = SharedRows.of(files, view.shared_in(commit.version), first)
            while len(rows):
                count = self._fitting(rows, group.room)
                if not count:
                    self.rest = replace(position, version=commit.version, index=rows.first)
                    yield await self._encode(group)
                    return
                group.add(commit, rows.files.slice(0, count))
                rows = rows.behind(count)
                if group.room <= 0:
                    yield await self._encode(group)
                    group = RowGroup(BATCH_ROWS)
                    await anyio.lowlevel.checkpoint()  # a long answer must not starve the short ones
        yield await self._encode(group)

    def _fitting(self, rows: SharedRows, room: int) -> int:
        """How many of the rows come next; none where the page is full.

        The actions on one path are never torn apart, as the two pages would give it two URLs: rather
        than that, a page may exceed a `maxFiles` of 1.
        """
        left = room if self._max_files is None else self._max_files - self._files
        count = rows.together(max(1, min(room, left)))
        if self._max_files is not None and count > left and self._files:
            return 0
        self._files += count
        return count

    async def _encode(self, group: RowGroup) -> bytes:
        if not group.at:
            return b""
        rows, view = group.table(), self._view
        presigned = await self._urls.of_each(texts(rows.column("path")))
        if view.agreement.response_format == "parquet":
            return change_lines.parquet(
                rows, presigned, group.at, view.hash_name, partitioned=view.partitioned
            )
        vectors = await self._urls.of_vectors(rows.column("deletion_vector"))
        return change_lines.delta(rows, presigned, vectors, group.at, view.hash_name)
