"""Finds records in the database and in files, newest first."""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from sluicegate.api.errors import ConfigurationError
from sluicegate.audit.reading.query import AuditQuery, StoredRecord, select_lines
from sluicegate.audit.reading.ranges import MARGIN, end_until, lines_of
from sluicegate.audit.sinks.database.reading import chain_numbers, pages_before
from sluicegate.audit.sinks.database.transactions import Block
from sluicegate.audit.sinks.files.directory import lines, segments, slots
from sluicegate.audit.times import TimeSpan, span_of
from sluicegate.database import Store

Before = Mapping[int, int]
"""Where a search continues: by number of a chain, records with smaller numbers than this."""

_PLACE = re.compile(r"[0-9]{1,9}-[0-9]{1,18}(?:\.[0-9]{1,9}-[0-9]{1,18})*")
_NOWHERE = 1  # no record has a smaller number


@dataclass(frozen=True, slots=True)
class RecordsPage:
    """A page of a search.

    Attributes:
        records: The records, newest first.
        before: Where the next page starts; `None` for no more.
    """

    records: list[StoredRecord]
    before: Before | None


async def search(
    store: Store, query: AuditQuery, before: Before | None = None
) -> AsyncIterator[StoredRecord]:
    """The selected records of all chains, newest first.

    Raises:
        Unavailable: The database does not respond.
    """
    merged = await _Merged.of(store, query, before or {}, _Limits(None, None))
    while (found := await merged.next()) is not None:
        yield found


async def search_page(
    store: Store, query: AuditQuery, *, limit: int, before: Before | None, max_blocks: int
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
    limits = _Limits(limit + 1, max_blocks)
    merged = await _Merged.of(store, query, before or {}, limits)
    records: list[StoredRecord] = []
    while len(records) < limit and (found := await merged.next()) is not None:
        records.append(found)
    return RecordsPage(records, merged.position)


async def find_record(store: Store, query: AuditQuery, chain: int, seq: int) -> StoredRecord | None:
    """Return the record at a place, if the query selects it.

    Raises:
        Unavailable: The database does not respond.
    """
    async for page in pages_before(store, chain, seq + 1):
        found = (each for block in page for each in select_lines(lines_of(block), query))
        return next((each for each in found if each.seq == seq), None)
    return None


def place_text(before: Before) -> str:
    """A place where a search continues, as text without special characters."""
    return ".".join(f"{chain}-{seq}" for chain, seq in before.items())


def parse_place(text: str) -> Before | None:
    """The place in a text, or `None` if it is none."""
    if not _PLACE.fullmatch(text):
        return None
    pairs = (each.split("-") for each in text.split("."))
    return {int(chain): int(seq) for chain, seq in pairs}


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


@dataclass
class _Limits:
    """What may be read.

    Attributes:
        most: Once so many records of a chain are found, the rest of its page is left out.
        blocks: Number of blocks of all chains that may still be read.
    """

    most: int | None
    blocks: int | None


class _Merged:
    """Merges chains in order of time.

    It reads on in the chain that it has read least far into the past, so that no newer record can
    follow, whether or not the chains contain selected records.
    """

    def __init__(self, readers: Sequence[_ChainReader], ended: Before) -> None:
        self._readers = readers
        self._ended = ended

    @classmethod
    async def of(cls, store: Store, query: AuditQuery, before: Before, limits: _Limits) -> _Merged:
        """All chains, from the places on that a search has reached."""
        ended = {chain: seq for chain, seq in before.items() if seq == _NOWHERE}
        numbers = [each for each in await chain_numbers(store) if each not in ended]
        readers = [_ChainReader(store, each, query, before.get(each), limits) for each in numbers]
        return cls(readers, ended)

    async def next(self) -> StoredRecord | None:
        """Return the next record, or `None` if there is no more, or no more may be read."""
        while True:
            least = max(self._readers, key=lambda each: each.read_until, default=None)
            newest = max(self._readers, key=lambda each: each.newest, default=None)
            if least is None or newest is None:
                return None
            if newest.found and newest.newest >= least.read_until:
                return newest.found.popleft()
            if least.is_done or not await least.read():
                return None

    @property
    def position(self) -> Before | None:
        """Where to continue; `None` if nothing is left."""
        if all(each.is_done and not each.found for each in self._readers):
            return None
        reached = {each.chain: each.position for each in self._readers if each.position is not None}
        return {**self._ended, **reached}


class _ChainReader:
    """Reads the selected records of one chain, newest first.

    Attributes:
        found: Those that were read.
        read_until: Time up to which the chain was read, epoch milliseconds.
    """

    def __init__(
        self, store: Store, chain: int, query: AuditQuery, before: int | None, limits: _Limits
    ) -> None:
        self.chain = chain
        self.found: deque[StoredRecord] = deque()
        self.read_until: float = float("inf")
        self._before = before
        self._limits = limits
        self._selector = _Selector(query, before, limits)
        self._pages = _pages(store, chain, query, before, self._selector)

    @property
    def is_done(self) -> bool:
        """Whether the chain was read to its start, or to that of the time span."""
        return self.read_until == float("-inf")

    @property
    def newest(self) -> float:
        """The time of the next record."""
        return self.found[0].record.at if self.found else float("-inf")

    @property
    def position(self) -> int | None:
        """What the next record has a smaller number than; `None` before the first page."""
        if self.found:
            return self.found[0].seq + 1
        return _NOWHERE if self.is_done else self._before

    async def read(self) -> bool:
        """Read the next page, and return whether this was possible.

        The first one always is: otherwise, a search of many chains would not get ahead.
        """
        is_first = self.read_until == float("inf")
        if self._limits.blocks is not None and self._limits.blocks <= 0 and not is_first:
            return False
        page = await anext(self._pages, None)
        if page is None:
            self.read_until = float("-inf")
            return True
        selected = await anyio.to_thread.run_sync(self._selector.select, page)
        self.found += selected.records
        self.read_until = min(self.read_until, selected.oldest)
        self._before = selected.first_seq
        return True


async def _pages(
    store: Store, chain: int, query: AuditQuery, before: int | None, selector: _Selector
) -> AsyncIterator[Sequence[Block]]:
    """The blocks that can contain selected records, newest first, some at a time."""
    end = before
    if query.until is not None:
        end = await end_until(store, chain, query.until, before)
        if end is None:
            return
    async for page in pages_before(store, chain, end):
        end = page[-1].first_seq
        yield page
        if selector.older >= MARGIN:
            break
    else:
        return
    async for page in pages_before(store, chain, end, claimed_since=query.since):
        yield page


@dataclass(frozen=True, slots=True)
class _Selected:
    """What some blocks contain.

    Attributes:
        records: The selected records, newest first.
        oldest: The smallest time of all records, epoch milliseconds.
        first_seq: First number of the oldest block.
    """

    records: list[StoredRecord]
    oldest: float
    first_seq: int


class _Selector:
    """Selects the records of blocks.

    Args:
        query: What to search for.
        before: Records have a smaller number than this.
        limits: What may be read.

    Attributes:
        older: Number of blocks in sequence, up to the last one, that contain only older records.
    """

    def __init__(self, query: AuditQuery, before: int | None, limits: _Limits) -> None:
        self._query = query
        self._before = before
        self._limits = limits
        self._most = limits.most
        self.older = 0

    def select(self, page: Sequence[Block]) -> _Selected:
        """The selected records of a page, newest first.

        It takes many blocks: in a busy gateway, each thread has to wait for its turn before it starts.
        """
        blocks = page if self._limits.blocks is None else page[: max(self._limits.blocks, 1)]
        records: list[StoredRecord] = []
        oldest = float("inf")
        for block in blocks:
            in_block = lines_of(block)
            span = span_of(in_block)
            if span is not None:
                oldest = min(oldest, span.first)
            records += self._in_block(in_block, span)
            if self._most is not None and len(records) >= self._most:
                break
        if self._limits.blocks is not None:
            self._limits.blocks -= len(blocks)
        if self._most is not None:
            self._most -= len(records)
        return _Selected(records, oldest, blocks[-1].first_seq)

    def _in_block(self, in_block: Sequence[bytes], span: TimeSpan | None) -> Iterator[StoredRecord]:
        since = self._query.since
        if since is not None:
            if span is not None and span.last < since:
                self.older += 1
                return
            self.older = 0
        for each in select_lines(reversed(in_block), self._query):
            if self._before is None or each.seq < self._before:
                yield each
