"""Finds records in the database and in files, newest first."""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from sluicegate.api.errors import ConfigurationError
from sluicegate.audit.blocks import unpack
from sluicegate.audit.reading.database import StoredBlock, pages_before
from sluicegate.audit.reading.query import AuditQuery, StoredRecord, select_lines
from sluicegate.audit.sinks.files.directory import lines, segments, slots
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
    async for page in pages_before(store, before, since=query.since, until=query.until):
        for record in await anyio.to_thread.run_sync(_newest_first, page, query, before):
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
    found: list[StoredRecord] = []
    left = max_blocks
    async for page in pages_before(store, before, since=query.since, until=query.until):
        blocks = page[:left]
        more = limit + 1 - len(found)
        found += await anyio.to_thread.run_sync(_newest_first, blocks, query, before, more)
        if len(found) > limit:
            return RecordsPage(found[:limit], found[limit - 1].seq)
        left -= len(blocks)
        if not left:
            return RecordsPage(found, blocks[-1].first_seq)
    return RecordsPage(found, None)


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


def _newest_first(
    blocks: Sequence[StoredBlock], query: AuditQuery, before: int | None, most: int | None = None
) -> list[StoredRecord]:
    """The selected records of blocks with a smaller number than `before`.

    It takes many blocks: in a busy gateway, each thread has to wait for its turn before it starts. Once
    it has found `most` records, it leaves out the other blocks.
    """
    found: list[StoredRecord] = []
    for block in blocks:
        found += [each for each in _in_block(block, query) if before is None or each.seq < before]
        if most is not None and len(found) >= most:
            break
    return found


def _in_block(block: StoredBlock, query: AuditQuery) -> Iterator[StoredRecord]:
    try:
        stored = unpack(block.records)
    except ValueError:
        return iter(())  # `verify` reports it
    return select_lines(reversed(stored), query)
