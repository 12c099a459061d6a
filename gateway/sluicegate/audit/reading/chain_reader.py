"""Reads the selected records of one chain, newest first."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

import anyio.to_thread

from sluicegate.audit.index import AbsenceCheck
from sluicegate.audit.reading.query import AuditQuery, StoredRecord, select_lines
from sluicegate.audit.reading.ranges import MARGIN, end_until, lines_of
from sluicegate.audit.reading.skipping import ChainPart, parts
from sluicegate.audit.sinks.database.reading import pages_before
from sluicegate.audit.sinks.database.transactions import Block
from sluicegate.audit.times import TimeSpan, span_of
from sluicegate.database import Store

NOWHERE = 1
"""No record has a smaller number."""

# Rows of the index that take about as long as a block.
_ROWS_PER_BLOCK = 16


@dataclass
class Limits:
    """What may be read."""

    most: int | None
    blocks: int | None


class ChainReader:
    """Reads the selected records of one chain, newest first.

    Attributes:
        read_until: Time up to which the chain was read, epoch milliseconds.
    """

    def __init__(
        self,
        store: Store,
        chain: int,
        query: AuditQuery,
        before: int | None,
        limits: Limits,
        check: AbsenceCheck | None,
    ) -> None:
        self.chain = chain
        self.found: deque[StoredRecord] = deque()
        self.read_until: float = float("inf")
        self._before = before
        self._limits = limits
        self._selector = _Selector(query, before, limits)
        self._pages = _pages(store, chain, query, before, self._selector, check)
        self._has_started = False

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
        return NOWHERE if self.is_done else self._before

    async def read(self) -> bool:
        """Read the next page, and return whether this was possible.

        The first one always is: otherwise, a search of many chains would not get ahead.
        """
        if self._limits.blocks is not None and self._limits.blocks <= 0 and self._has_started:
            return False
        page = await anext(self._pages, None)
        if page is None:
            self.read_until = float("-inf")
        elif isinstance(page, ChainPart):
            if page.is_empty:
                self._before = page.before
                self._has_started = True
            if self._limits.blocks is not None:
                self._limits.blocks -= page.rows // _ROWS_PER_BLOCK
        else:
            selected = await anyio.to_thread.run_sync(self._selector.select, page)
            self.found += selected.records
            self.read_until = min(self.read_until, selected.oldest)
            self._before = selected.first_seq
            self._has_started = True
        return True


async def _pages(
    store: Store,
    chain: int,
    query: AuditQuery,
    before: int | None,
    selector: _Selector,
    check: AbsenceCheck | None,
) -> AsyncIterator[Sequence[Block] | ChainPart]:
    """The blocks that can contain selected records, newest first, some at a time.

    Before those of each part of the chain, this returns the part.
    """
    end = before
    if query.until is not None:
        end = await end_until(store, chain, query.until, before)
        if end is None:
            return
    is_margin_read = False
    async for part in parts(store, chain, end, check):
        yield part
        end = part.before
        if part.is_empty:
            continue
        if not is_margin_read:
            async for page in pages_before(store, chain, end, first=part.first):
                end = page[-1].first_seq
                yield page
                if selector.older >= MARGIN:
                    is_margin_read = True
                    break
            else:
                continue
        async for page in pages_before(store, chain, end, first=part.first, claimed_since=query.since):
            yield page


@dataclass(frozen=True, slots=True)
class _Selected:
    """What some blocks contain.

    Attributes:
        oldest: The smallest time of all records, epoch milliseconds.
    """

    records: list[StoredRecord]
    oldest: float
    first_seq: int


class _Selector:
    """Selects the records of blocks."""

    def __init__(self, query: AuditQuery, before: int | None, limits: Limits) -> None:
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
