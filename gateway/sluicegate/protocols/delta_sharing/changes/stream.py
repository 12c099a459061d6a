"""The body of a stream or change feed: one commit after the other, until the page is full."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import pyarrow.compute as pc

from sluicegate.protocols.columns import texts
from sluicegate.protocols.delta_sharing.changes import lines as change_lines
from sluicegate.protocols.delta_sharing.changes.lines import RowGroup, SharedRows
from sluicegate.protocols.delta_sharing.changes.version_range import Position
from sluicegate.protocols.delta_sharing.changes.view import ChangeView
from sluicegate.protocols.delta_sharing.query.selection import BATCH_ROWS, FIRST_BATCH_ROWS
from sluicegate.protocols.presigning.response_urls import Urls
from sluicegate.protocols.presigning.signer import Offered, Signer
from sluicegate.tables.partitions import answered_partitions


class ChangeStream:
    """Encodes the lines of one page.

    Attributes:
        rest: Where the next page continues, once `lines` is exhausted. `None` on the last page.
    """

    def __init__(self, view: ChangeView, signer: Signer, position: Position) -> None:
        self.rest: Position | None = None
        self._signer = signer
        self._view = view
        self._urls = Urls(signer, view.table)
        self._position = position
        self._max_files = view.request.max_files
        self._files = 0

    @property
    def expires_at(self) -> int | None:
        """Expiry of the first URL so far, in epoch milliseconds. `None` before any URL."""
        return self._urls.expires_at

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines after the header lines, in parts.

        Raises:
            StorageError: The store cannot sign now.
            RateLimited: The recipient would get more than it is allowed to get in a day.
            TableUnreadable: A deletion vector's descriptor is malformed.
            Unavailable: The log was cleaned up in the meantime.
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
                canonical = view.canonical_in(commit.version)
                group.add(commit, canonical.of_changes(rows.files.slice(0, count)))
                rows = rows.behind(count)
                if group.room <= 0:
                    yield await self._encode(group)
                    group = RowGroup(BATCH_ROWS)
                    await anyio.lowlevel.checkpoint()  # a long response must not starve short ones
        yield await self._encode(group)

    def _fitting(self, rows: SharedRows, room: int) -> int:
        """How many of the rows come next. 0 if the page is full.

        The actions on one path are never split across pages, because two pages would give the path two
        URLs. A page can therefore exceed a `maxFiles` of 1.
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
        view = self._view
        rows = answered_partitions(group.table(), view.shown.metadata)
        self._signer.offer(view.table, Offered(rows.num_rows, pc.sum(rows.column("size")).as_py() or 0))
        presigned = await self._urls.of_each(texts(rows.column("path")))
        if view.agreement.response_format == "parquet":
            return change_lines.parquet(
                rows, presigned, group.at, view.hash_name, partitioned=view.partitioned
            )
        vectors = await self._urls.of_vectors(rows.column("deletion_vector"))
        return change_lines.delta(rows, presigned, vectors, group.at, view.hash_name)
