"""Indexes the records of chains, range by range.

A range is only indexed if each of its lines continues the line before it, so that nobody without a key
can have other records indexed than those that are later searched.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread
import orjson

from sluicegate.audit.chain import START, ChainKeys, ChainPosition, parse_line
from sluicegate.audit.encoding import record_of, unpack
from sluicegate.audit.index import IndexKeys, IndexRow, Name, names_of
from sluicegate.audit.sinks.database.index_rows import add_row, first_gap
from sluicegate.audit.sinks.database.reading import (
    has_blocks,
    pages_before,
    pages_from,
    read_end,
)
from sluicegate.audit.sinks.database.transactions import Block
from sluicegate.database import Store

RANGE_RECORDS = 4_096
"""Number of records after which a range ends."""

RANGE_BLOCKS = 256
"""Number of blocks after which a range ends. A search reads those that are not indexed yet."""


class Indexer:
    """Indexes the oldest records without an index."""

    def __init__(self, store: Store, keys: ChainKeys) -> None:
        self._store = store
        self._keys = keys
        self._places: dict[int, int] = {}  # by chain, the first record that may not be indexed

    async def index_next(self, chain: int) -> bool:
        """Index the next range of a chain, and return whether there may be another one."""
        start, before = await first_gap(self._store, chain, self._places.get(chain, 1))
        self._places[chain] = start
        is_complete = before is not None or await has_blocks(
            self._store, chain, start, records=RANGE_RECORDS, blocks=RANGE_BLOCKS
        )
        return is_complete and await self._index(chain, start, before)

    async def _index(self, chain: int, start: int, before: int | None) -> bool:
        found: _Range | None = None
        async for page in pages_from(self._store, chain, start, before=before):
            if found is None:
                after = await self._position_before(chain, page[0].first_seq)
                found = _Range(self._keys, chain, after)
            await anyio.to_thread.run_sync(found.feed, page)
            if found.is_complete:
                break
        if found is not None and found.blocks and (found.is_complete or before is not None):
            row = await anyio.to_thread.run_sync(found.row)
            await add_row(self._store, row)
            self._places[chain] = row.last_seq + 1
            return True
        if before is None:
            return False
        self._places[chain] = before
        return True

    async def _position_before(self, chain: int, seq: int) -> ChainPosition | None:
        async for page in pages_before(self._store, chain, seq):
            return _last_of(page[0])
        head = (await read_end(self._store, self._keys, chain)).head
        return START if head is None else head.checkpoint


class _Range:
    """Collects the names in blocks whose lines continue each other.

    It starts again after a block that does not continue the one before it.
    """

    def __init__(self, keys: ChainKeys, chain: int, after: ChainPosition | None) -> None:
        self._keys = keys
        self._chain = chain
        self._last = after
        self._names: set[Name] = set()
        self.start = 0
        self.blocks = 0

    @property
    def is_complete(self) -> bool:
        """Whether the range is as long as it has to be."""
        return self.blocks >= RANGE_BLOCKS or self._end - self.start >= RANGE_RECORDS

    @property
    def _end(self) -> int:
        return self.start if not self.blocks or self._last is None else self._last.seq + 1

    def feed(self, page: Sequence[Block]) -> None:
        """Take the next blocks, until the range is complete."""
        for block in page:
            if self._continues(block):
                self.blocks += 1
            else:
                self._last, self.blocks = _last_of(block), 0
                self._names.clear()
            if self.is_complete:
                return

    def row(self) -> IndexRow:
        """The row of the range."""
        return IndexKeys(self._keys).row(self._chain, self.start, self._end - 1, self._names)

    def _continues(self, block: Block) -> bool:
        last = self._last
        try:
            lines = unpack(block.records)
            for raw in lines:
                line = parse_line(raw)
                if (
                    last is None
                    or (line.seq, line.chain) != (last.seq + 1, self._chain)
                    or not self._keys.knows(line.key)
                    or not self._keys.verifies(line, last.mac)
                ):
                    return False
                last = line.position
                self._names.update(names_of(record_of(orjson.loads(raw))))
        except ValueError:
            return False
        first_seq = parse_line(lines[0]).seq
        if first_seq != block.first_seq:
            return False
        if not self.blocks:
            self.start = first_seq
        self._last = last
        return True


def _last_of(block: Block) -> ChainPosition | None:
    try:
        return parse_line(unpack(block.records)[-1]).position
    except (IndexError, ValueError):
        return None
