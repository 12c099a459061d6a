"""Reads chains from the database in short transactions, which don't delay writers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, func, select

from sluicegate.audit.chain import START, ChainKeys, ChainPosition, Head
from sluicegate.audit.sinks.database.transactions import (
    SHARED,
    Block,
    ChainRow,
    chain_row,
    is_authentic,
)
from sluicegate.database import Store
from sluicegate.database.tables import (
    audit_blocks,
    audit_chain_blocks,
    audit_chains,
    audit_head,
)

PAGE = 32
"""Blocks of one page. They are small, unless very many requests wait for each commit."""

BEYOND = 2**62
"""More records than a chain has. The number after a larger one can be too large for the database."""


@dataclass(frozen=True, slots=True)
class StoredEnd:
    """Where a chain ends.

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


async def read_chains(store: Store) -> list[ChainRow]:
    """Return the rows of all numbered chains, and of the register."""
    statement = select(audit_chains).order_by(audit_chains.c.chain)
    async with store.read() as connection:
        return [chain_row(tuple(row)) for row in await connection.execute(statement)]


async def read_neighbors(store: Store, chain: int, most: int) -> list[ChainRow]:
    """Return the rows of the chains that follow a chain by number. The first follows the last."""
    column = audit_chains.c.chain
    following = select(audit_chains).where(column > chain).order_by(column).limit(most)
    first = select(audit_chains).where(column > 0, column < chain).order_by(column).limit(most)
    async with store.read() as connection:
        rows = [tuple(row) for row in await connection.execute(following)]
        if len(rows) < most:
            rows += [tuple(row) for row in await connection.execute(first)]
    return [chain_row(row) for row in rows[:most]]


async def chain_numbers(store: Store) -> list[int]:
    """Return the numbers of all chains with records, also of those that nobody registered."""
    numbers = select(audit_chains.c.chain).where(audit_chains.c.chain != SHARED)
    # One look at the index for each chain: a database that groups reads the entire index.
    first = select(func.min(audit_chain_blocks.c.chain).label("chain")).cte("found", recursive=True)
    following = (
        select(func.min(audit_chain_blocks.c.chain))
        .where(audit_chain_blocks.c.chain > first.c.chain)
        .scalar_subquery()
    )
    found = first.union_all(select(following).where(first.c.chain.is_not(None)))
    stored = select(found.c.chain).where(found.c.chain.is_not(None))
    async with store.read() as connection:
        rows = (await connection.execute(numbers.union(stored))).scalars()
        return sorted({SHARED, *rows})


async def read_end(store: Store, keys: ChainKeys, chain: int) -> StoredEnd:
    """Return where a chain ends."""
    blocks = _blocks(chain)
    # One statement, so that no other process writes a block in between.
    newest = select(func.max(blocks.c.first_seq)).where(*_in(chain)).scalar_subquery()
    heads, key = (audit_head, 1) if chain == SHARED else (audit_chains, chain)
    is_its = next(iter(heads.primary_key)) == key
    statement = select(heads, newest.label("newest")).where(is_its)
    async with store.read() as connection:
        row = (await connection.execute(statement)).one_or_none()
        if row is None:
            return StoredEnd(None, (await connection.execute(select(newest))).scalar_one())
    head = Head(ChainPosition(row.seq, row.mac), ChainPosition(row.checkpoint_seq, row.checkpoint_mac))
    has_blocks = row.newest is not None
    accepted = is_authentic(keys, chain, head, row.seal, has_blocks=has_blocks)
    return StoredEnd(head if accepted else None, row.newest)


async def read_heads(store: Store, keys: ChainKeys) -> dict[int, Head] | None:
    """Return the heads of all chains by their numbers; `None` if one is missing or not authentic."""
    numbers = await chain_numbers(store)
    rows = [row for row in await read_chains(store) if row.chain != SHARED]
    heads = {row.chain: row.head for row in rows if is_authentic(keys, row.chain, row.head, row.seal)}
    shared = (await read_end(store, keys, SHARED)).head
    if shared is not None:
        heads[SHARED] = shared
    return dict(sorted(heads.items())) if heads.keys() >= {*numbers} else None


async def has_blocks(store: Store, chain: int, seq: int, *, records: int, blocks: int) -> bool:
    """Whether a chain has many records or blocks from a record on, as columns say."""
    first_seq = _blocks(chain).c.first_seq
    some = select(first_seq).where(*_in(chain), first_seq >= seq).order_by(first_seq).limit(blocks)
    found = some.subquery()
    least, largest = func.min(found.c.first_seq), func.max(found.c.first_seq)
    statement = select(func.count(), least, largest).select_from(found)
    async with store.read() as connection:
        number, first, last = (await connection.execute(statement)).one()
    return bool(number >= blocks or (number and last - first >= records))


async def blocks_from(store: Store, chain: int, seq: int | None = None) -> AsyncIterator[Block]:
    """The blocks of a chain whose first line has at least the number `seq`, oldest first."""
    async for page in pages_from(store, chain, seq):
        for block in page:
            yield block


async def pages_from(
    store: Store, chain: int, seq: int | None = None, *, before: int | None = None
) -> AsyncIterator[Sequence[Block]]:
    """The blocks of a chain whose first line has at least a number, oldest first, some at a time."""
    first_seq = _blocks(chain).c.first_seq
    limits = [] if before is None else [first_seq < before]
    start = [] if seq is None else [first_seq >= seq]
    while True:
        page = await _page(store, chain, [*limits, *start], newest_first=False)
        if page:
            yield page
        if len(page) < PAGE:
            return
        start = [first_seq > page[-1].first_seq]


async def pages_before(
    store: Store,
    chain: int,
    seq: int | None,
    *,
    first: int | None = None,
    claimed_since: int | None = None,
) -> AsyncIterator[Sequence[Block]]:
    """The blocks of a chain whose first line has a smaller number, newest first, some at a time."""
    blocks = _blocks(chain)
    limits = [] if claimed_since is None else [blocks.c.last_at >= claimed_since]
    if first is not None:
        limits.append(blocks.c.first_seq >= first)
    size = 1  # most searches of several chains need only the newest block of each
    while True:
        before = [] if seq is None else [blocks.c.first_seq < seq]
        page = await _page(store, chain, [*limits, *before], newest_first=True, size=size)
        if page:
            yield page
        if len(page) < size:
            return
        seq, size = page[-1].first_seq, min(4 * size, PAGE)


async def claimed_start(store: Store, chain: int, since: int) -> int | None:
    """The first number of the first block that contains records from a time on, as columns say."""
    blocks = _blocks(chain)
    first = select(func.min(blocks.c.first_seq)).where(*_in(chain), blocks.c.last_at >= since)
    async with store.read() as connection:
        found: int | None = (await connection.execute(first)).scalar_one()
        return found


async def claimed_end(store: Store, chain: int, until: int, before: int | None) -> int | None:
    """The first number of the last block that contains records from before a time, as columns say."""
    blocks = _blocks(chain)
    first_seq = blocks.c.first_seq
    last = select(first_seq).where(*_in(chain), blocks.c.first_at < until, first_seq < BEYOND)
    if before is not None:
        last = last.where(first_seq < before)
    async with store.read() as connection:
        found = await connection.execute(last.order_by(first_seq.desc()).limit(1))
        return found.scalar_one_or_none()


async def _page(
    store: Store,
    chain: int,
    where: Sequence[ColumnElement[bool]],
    *,
    newest_first: bool,
    size: int = PAGE,
) -> Sequence[Block]:
    first_seq = _blocks(chain).c.first_seq
    statement = (
        _select(chain)
        .where(*where)
        .order_by(first_seq.desc() if newest_first else first_seq)
        .limit(size)
    )
    async with store.read() as connection:
        return [Block(*row) for row in await connection.execute(statement)]


def _select(chain: int) -> Select[Any]:
    columns = _blocks(chain).c
    return select(
        columns.first_seq,
        columns["count"],
        columns.first_at,
        columns.last_at,
        columns.mac,
        columns.records,
    ).where(*_in(chain))


def _blocks(chain: int) -> Table:
    return audit_blocks if chain == SHARED else audit_chain_blocks


def _in(chain: int) -> Sequence[ColumnElement[bool]]:
    return [] if chain == SHARED else [audit_chain_blocks.c.chain == chain]
