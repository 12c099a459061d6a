"""Reads blocks from the database in short transactions, which don't delay writers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select

from sluicegate.audit.chain import ChainKeys, ChainPosition, Head
from sluicegate.audit.sinks.database.transactions import CHAIN
from sluicegate.database import Store
from sluicegate.database.tables import audit_blocks, audit_head

# Blocks of one page. They are small, unless very many requests wait for each commit.
_PAGE = 32


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A block of the chain.

    Attributes:
        first_at: The smallest time in it, epoch milliseconds.
        records: Its packed lines.
    """

    first_seq: int
    first_at: int
    records: bytes


async def read_head(store: Store, keys: ChainKeys) -> Head | None:
    """Return the head of the chain, or `None` if it is missing or not authentic.

    Raises:
        Unavailable: The database does not respond.
    """
    async with store.read() as connection:
        row = (await connection.execute(select(audit_head))).one_or_none()
        newest = select(audit_blocks.c.first_seq).limit(1)
        has_blocks = (await connection.execute(newest)).one_or_none() is not None
    if row is None:
        return None
    head = Head(ChainPosition(row.seq, row.mac), ChainPosition(row.checkpoint_seq, row.checkpoint_mac))
    if row.seal == b"" and head == Head() and not has_blocks:
        return head
    return head if keys.accepts_head(CHAIN, head, row.seal) else None


async def blocks_from(store: Store, seq: int = 0) -> AsyncIterator[StoredBlock]:
    """The blocks whose first line has at least the number `seq`, oldest first.

    Raises:
        Unavailable: The database does not respond.
    """
    while True:
        page = await _page(store, [audit_blocks.c.first_seq >= seq], newest_first=False)
        for block in page:
            yield block
        if len(page) < _PAGE:
            return
        seq = page[-1].first_seq + 1


async def pages_before(
    store: Store, seq: int | None, *, since: int | None, until: int | None
) -> AsyncIterator[list[StoredBlock]]:
    """The blocks whose first line has a smaller number than `seq`, newest first, some at a time.

    Args:
        store: The open database.
        seq: The number, or `None` for all blocks.
        since: Leave out blocks whose records are all from before this time, epoch milliseconds.
        until: Leave out blocks whose records are all from this time or later, epoch milliseconds.

    Raises:
        Unavailable: The database does not respond.
    """
    within = []
    if since is not None:
        within.append(audit_blocks.c.last_at >= since)
    if until is not None:
        within.append(audit_blocks.c.first_at < until)
    while True:
        before = [] if seq is None else [audit_blocks.c.first_seq < seq]
        page = await _page(store, [*within, *before], newest_first=True)
        if page:
            yield page
        if len(page) < _PAGE:
            return
        seq = page[-1].first_seq


async def start_since(store: Store, since: int) -> tuple[int, ChainPosition | None] | None:
    """Return where the records from a time on start.

    Args:
        store: The open database.
        since: Epoch milliseconds.

    Returns:
        The first number in the first block with such a record, and the last record before this block,
        if it is stored; or `None` if there are no such records.

    Raises:
        Unavailable: The database does not respond.
    """
    blocks = audit_blocks.c
    first = select(func.min(blocks.first_seq)).where(blocks.last_at >= since)
    async with store.read() as connection:
        first_seq = (await connection.execute(first)).scalar_one()
        if first_seq is None:
            return None
        before = (
            select(blocks.first_seq, blocks.count, blocks.mac)
            .where(blocks.first_seq < first_seq)
            .order_by(blocks.first_seq.desc())
            .limit(1)
        )
        row = (await connection.execute(before)).one_or_none()
    return first_seq, None if row is None else ChainPosition(row.first_seq + row.count - 1, row.mac)


async def _page(
    store: Store, where: list[ColumnElement[bool]], *, newest_first: bool
) -> list[StoredBlock]:
    first_seq = audit_blocks.c.first_seq
    statement = (
        select(first_seq, audit_blocks.c.first_at, audit_blocks.c.records)
        .where(*where)
        .order_by(first_seq.desc() if newest_first else first_seq)
        .limit(_PAGE)
    )
    async with store.read() as connection:
        rows = await connection.execute(statement)
        return [StoredBlock(row.first_seq, row.first_at, row.records) for row in rows]
