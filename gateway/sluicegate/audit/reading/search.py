"""Finds records in the database and in files, newest first."""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from sluicegate.api.errors import ConfigurationError
from sluicegate.audit.blocks import unpack
from sluicegate.audit.reading.database import StoredBlock, blocks_before
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
    async for block in blocks_before(store, before, since=query.since, until=query.until):
        for record in await anyio.to_thread.run_sync(_newest_first, block, query):
            if before is None or record.seq < before:
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
    read = 0
    async for block in blocks_before(store, before, since=query.since, until=query.until):
        for record in await anyio.to_thread.run_sync(_newest_first, block, query):
            if before is not None and record.seq >= before:
                continue
            if len(found) == limit:
                return RecordsPage(found, found[-1].seq)
            found.append(record)
        read += 1
        if read == max_blocks:
            return RecordsPage(found, block.first_seq)
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


def _newest_first(block: StoredBlock, query: AuditQuery) -> list[StoredRecord]:
    try:
        stored = unpack(block.records)
    except ValueError:
        return []  # `verify` reports it
    return list(select_lines(reversed(stored), query))
