"""Finds the blocks that contain the records of a time span.

The columns with times are only a hint, because nothing seals them: anyone who can write to the database
could hide records from a search. The blocks around the place that they name are therefore read, until
many in sequence contain only other times, according to the sealed records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio.to_thread

from sluicegate.audit.chain import ChainPosition, parse_line
from sluicegate.audit.encoding import unpack
from sluicegate.audit.sinks.database.reading import (
    BEYOND,
    claimed_end,
    claimed_start,
    pages_before,
    pages_from,
)
from sluicegate.audit.sinks.database.transactions import Block
from sluicegate.audit.times import TimeSpan, span_of
from sluicegate.database import Store

MARGIN = 64
"""Number of blocks in sequence with other times after which no more are read.

The times of blocks are only almost in order. Blocks that are further away, for example because a clock
was wrong, are found by the columns.
"""


def lines_of(block: Block) -> list[bytes]:
    """The lines of a block; none if it is unreadable, which `verify` reports."""
    try:
        return unpack(block.records)
    except ValueError:
        return []


async def first_block_since(
    store: Store, chain: int, since: int
) -> tuple[int, ChainPosition | None] | None:
    """Return where the records of a chain from a time on start.

    Returns:
        The first number of the first block with such a record, and the last record before this block,
        if it is stored; or `None` if there are no such records.
    """
    start, margin = await claimed_start(store, chain, since), _Margin()
    async for page in pages_before(store, chain, start):
        found = await anyio.to_thread.run_sync(margin.last_of, page, lambda span: span.last >= since)
        start = start if found is None else found
        if margin.is_exceeded:
            break
    if start is None:
        return None
    async for page in pages_before(store, chain, start):
        return start, _end_of(page[0])
    return start, None


async def end_until(store: Store, chain: int, until: int, before: int | None) -> int | None:
    """Return where the records of a chain from before a time end.

    Returns:
        A number that is larger than the first number of each block with such a record; or `None` if
        there are no such records.
    """
    last, margin = await claimed_end(store, chain, until, before), _Margin()
    start = None if last is None else last + 1
    async for page in pages_from(store, chain, start, before=before):
        found = await anyio.to_thread.run_sync(margin.last_of, page, lambda span: span.first < until)
        last = last if found is None else found
        if margin.is_exceeded:
            break
    return None if last is None else min(last + 1, BEYOND)


class _Margin:
    """Counts blocks in sequence that are outside of a time span."""

    def __init__(self) -> None:
        self._outside = 0

    @property
    def is_exceeded(self) -> bool:
        """Whether it has counted enough of them."""
        return self._outside >= MARGIN

    def last_of(self, page: Sequence[Block], is_inside: Callable[[TimeSpan], bool]) -> int | None:
        """The first number of the last block of a page that is inside, if one is."""
        last = None
        for block in page:
            span = span_of(lines_of(block))
            if span is not None and is_inside(span):
                last, self._outside = block.first_seq, 0
            else:
                self._outside += 1
        return last


def _end_of(block: Block) -> ChainPosition | None:
    try:
        line = parse_line(lines_of(block)[-1])
    except (IndexError, ValueError):
        return None
    return line.position
