"""Reads blocks from the database in short transactions, which don't delay writers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select

from sluicegate.audit.chain import START, ChainKeys, ChainPosition, Head
from sluicegate.audit.sinks.database.transactions import CHAIN, Block
from sluicegate.database import Store
from sluicegate.database.tables import audit_blocks, audit_head

PAGE = 32
"""Blocks of one page. They are small, unless very many requests wait for each commit."""

BEYOND = 2**62
"""More records than a log has. The number after a larger one can be too large for the database."""


@dataclass(frozen=True, slots=True)
class StoredEnd:
    """Where the chain ends.

    Attributes:
        head: The head, or `None` if it is missing or not authentic.
        newest: The first number of the newest block, as its column says; `None` without blocks.
    """

    head: Head | None
    newest: int | None

    @property
    def is_exceeded(self) -> bool:
        """Whether there is a block after the end of the chain."""
        head = self.head or Head(START)
        return self.newest is not None and self.newest > head.last.seq


async def read_end(store: Store, keys: ChainKeys) -> StoredEnd:
    """Return where the chain ends.

    Raises:
        Unavailable: The database does not respond.
    """
    # One statement, so that no other process writes a block in between.
    newest = select(func.max(audit_blocks.c.first_seq)).scalar_subquery()
    statement = select(audit_head, newest.label("newest")).where(audit_head.c.id == 1)
    async with store.read() as connection:
        row = (await connection.execute(statement)).one_or_none()
        if row is None:
            return StoredEnd(None, (await connection.execute(select(newest))).scalar_one())
    head = Head(ChainPosition(row.seq, row.mac), ChainPosition(row.checkpoint_seq, row.checkpoint_mac))
    is_new = row.seal == b"" and head == Head() and row.newest is None
    is_authentic = is_new or keys.accepts_head(CHAIN, head, row.seal)
    return StoredEnd(head if is_authentic else None, row.newest)


async def read_head(store: Store, keys: ChainKeys) -> Head | None:
    """Return the head of the chain, or `None` if it is missing or not authentic.

    Raises:
        Unavailable: The database does not respond.
    """
    return (await read_end(store, keys)).head


async def blocks_from(store: Store, seq: int | None = None) -> AsyncIterator[Block]:
    """The blocks whose first line has at least the number `seq`, oldest first.

    Raises:
        Unavailable: The database does not respond.
    """
    async for page in pages_from(store, seq):
        for block in page:
            yield block


async def pages_from(
    store: Store, seq: int | None = None, *, before: int | None = None
) -> AsyncIterator[Sequence[Block]]:
    """The blocks whose first line has at least the number `seq`, oldest first, some at a time.

    Args:
        store: The open database.
        seq: The number, or `None` for all blocks.
        before: Only blocks whose first line has a smaller number than this.

    Raises:
        Unavailable: The database does not respond.
    """
    first_seq = audit_blocks.c.first_seq
    limits = [] if before is None else [first_seq < before]
    start = [] if seq is None else [first_seq >= seq]
    while True:
        page = await _page(store, [*limits, *start], newest_first=False)
        if page:
            yield page
        if len(page) < PAGE:
            return
        start = [first_seq > page[-1].first_seq]


async def pages_before(
    store: Store, seq: int | None, *, claimed_since: int | None = None
) -> AsyncIterator[Sequence[Block]]:
    """The blocks whose first line has a smaller number than `seq`, newest first, some at a time.

    Args:
        store: The open database.
        seq: The number, or `None` for all blocks.
        claimed_since: Only blocks whose column `last_at` is at least this time, epoch milliseconds.

    Raises:
        Unavailable: The database does not respond.
    """
    claimed = [] if claimed_since is None else [audit_blocks.c.last_at >= claimed_since]
    while True:
        before = [] if seq is None else [audit_blocks.c.first_seq < seq]
        page = await _page(store, [*claimed, *before], newest_first=True)
        if page:
            yield page
        if len(page) < PAGE:
            return
        seq = page[-1].first_seq


async def claimed_start(store: Store, since: int) -> int | None:
    """The first number of the first block that contains records from a time on, as columns say.

    Raises:
        Unavailable: The database does not respond.
    """
    first = select(func.min(audit_blocks.c.first_seq)).where(audit_blocks.c.last_at >= since)
    async with store.read() as connection:
        found: int | None = (await connection.execute(first)).scalar_one()
        return found


async def claimed_end(store: Store, until: int, before: int | None) -> int | None:
    """The first number of the last block that contains records from before a time, as columns say.

    Args:
        store: The open database.
        until: The time, epoch milliseconds.
        before: Only blocks whose first line has a smaller number than this.

    Raises:
        Unavailable: The database does not respond.
    """
    first_seq = audit_blocks.c.first_seq
    last = select(first_seq).where(audit_blocks.c.first_at < until, first_seq < BEYOND)
    if before is not None:
        last = last.where(first_seq < before)
    async with store.read() as connection:
        found = await connection.execute(last.order_by(first_seq.desc()).limit(1))
        return found.scalar_one_or_none()


async def _page(
    store: Store, where: Sequence[ColumnElement[bool]], *, newest_first: bool
) -> Sequence[Block]:
    first_seq = audit_blocks.c.first_seq
    statement = (
        select(audit_blocks)
        .where(*where)
        .order_by(first_seq.desc() if newest_first else first_seq)
        .limit(PAGE)
    )
    async with store.read() as connection:
        return [Block(*row) for row in await connection.execute(statement)]
