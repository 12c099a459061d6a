"""Finds records in the database and in files, newest first."""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from sluicegate.api.errors import ConfigurationError
from sluicegate.audit.reading.query import AuditQuery, StoredRecord, select_lines
from sluicegate.audit.reading.ranges import MARGIN, end_until, lines_of
from sluicegate.audit.sinks.database.reading import pages_before
from sluicegate.audit.sinks.database.transactions import Block
from sluicegate.audit.sinks.files.directory import lines, segments, slots
from sluicegate.audit.times import span_of
from sluicegate.database import Store


@dataclass(frozen=True, slots=True)
class RecordsPage:
    """A page of a search.

    Attributes:
        records: The records, newest first.
        before: The next page contains records with smaller numbers than this; `None` for no more.
    """

    records: list[StoredRecord]
    before: int | None


async def search(
    store: Store, query: AuditQuery, before: int | None = None
) -> AsyncIterator[StoredRecord]:
    """The selected records with a smaller number than `before`, newest first.

    Raises:
        Unavailable: The database does not respond.
    """
    async for found in _found(store, query, before):
        for record in found.records:
            yield record


async def search_page(
    store: Store, query: AuditQuery, *, limit: int, before: int | None, max_blocks: int
) -> RecordsPage:
    """Return one page of a search.

    Args:
        store: The open database.
        query: What to search for.
        limit: Maximum number of records.
        before: The attribute of the previous page.
        max_blocks: Number of blocks after which the page ends, even if it contains fewer records.

    Raises:
        Unavailable: The database does not respond.
    """
    records: list[StoredRecord] = []
    left = max_blocks
    async for found in _found(store, query, before, most=limit + 1, max_blocks=max_blocks):
        records += found.records
        if len(records) > limit:
            return RecordsPage(records[:limit], records[limit - 1].seq)
        left -= found.blocks
        if left <= 0:
            return RecordsPage(records, found.first_seq)
    return RecordsPage(records, None)


def search_files(directory: Path, query: AuditQuery, *, limit: int) -> list[StoredRecord]:
    """Return the newest selected records in the chains of a directory, newest first.

    Raises:
        ConfigurationError: The directory can't be read.
    """
    try:
        found = _in_directory(directory, query)
        return heapq.nlargest(limit, found, key=lambda each: (each.record.at, each.seq))
    except OSError as error:
        raise ConfigurationError(f"{directory} can't be read: {error.strerror}") from error


def _in_directory(directory: Path, query: AuditQuery) -> Iterator[StoredRecord]:
    paths = [each.path for slot in slots(directory) for each in segments(directory, slot)]
    for path in paths:
        yield from select_lines((line for _, line in lines(path)), query)


async def _found(
    store: Store,
    query: AuditQuery,
    before: int | None,
    *,
    most: int | None = None,
    max_blocks: int | None = None,
) -> AsyncIterator[_Found]:
    """What the blocks contain, newest first, some blocks at a time."""
    end = before
    if query.until is not None:
        end = await end_until(store, query.until, before)
        if end is None:
            return
    reader = _Reader(query, before, most, max_blocks)
    async for page in pages_before(store, end):
        end = page[-1].first_seq
        yield await anyio.to_thread.run_sync(reader.read, page)
        if reader.older >= MARGIN:
            break
    else:
        return
    async for page in pages_before(store, end, claimed_since=query.since):
        yield await anyio.to_thread.run_sync(reader.read, page)


@dataclass(frozen=True, slots=True)
class _Found:
    """What some blocks contain.

    Attributes:
        records: The selected records, newest first.
        blocks: Number of blocks that were read.
        first_seq: First number of the oldest of them.
    """

    records: list[StoredRecord]
    blocks: int
    first_seq: int


class _Reader:
    """Selects the records of blocks.

    Args:
        query: What to search for.
        before: Records have a smaller number than this.
        most: Once it has found as many records, it leaves out the other blocks of a page.
        max_blocks: Number of blocks that it reads.

    Attributes:
        older: Number of blocks in sequence, up to the last one, that contain only older records.
    """

    def __init__(
        self, query: AuditQuery, before: int | None, most: int | None, max_blocks: int | None
    ) -> None:
        self._query = query
        self._before = before
        self._most = most
        self._left = max_blocks
        self.older = 0

    def read(self, page: Sequence[Block]) -> _Found:
        """The selected records of a page, newest first.

        It takes many blocks: in a busy gateway, each thread has to wait for its turn before it starts.
        """
        blocks = page if self._left is None else page[: self._left]
        records: list[StoredRecord] = []
        for block in blocks:
            records += self._in_block(block)
            if self._most is not None and len(records) >= self._most:
                break
        if self._left is not None:
            self._left -= len(blocks)
        if self._most is not None:
            self._most -= len(records)
        return _Found(records, len(blocks), blocks[-1].first_seq)

    def _in_block(self, block: Block) -> Iterator[StoredRecord]:
        lines, since = lines_of(block), self._query.since
        if since is not None:
            span = span_of(lines)
            if span is not None and span.last < since:
                self.older += 1
                return
            self.older = 0
        for each in select_lines(reversed(lines), self._query):
            if self._before is None or each.seq < self._before:
                yield each
