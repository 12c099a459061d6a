"""Reads and writes the rows of the index. Nothing that is read here is authenticated."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select

from sluicegate.audit.index import IndexRow
from sluicegate.audit.sinks.database.reading import BEYOND
from sluicegate.database import Store
from sluicegate.database.statements.upserts import insert_into
from sluicegate.database.tables import audit_index

_COLUMNS = audit_index.c
# Ranges that are looked at together. Their rows are read without names, so they are small.
_PAGE = 1_000


async def rows_before(store: Store, chain: int, seq: int | None, most: int) -> list[IndexRow]:
    """The last rows of a chain whose ranges start before a number, newest first."""
    statement = select(audit_index).where(_COLUMNS.chain == chain)
    if seq is not None:
        statement = statement.where(_COLUMNS.first_seq < seq)
    statement = statement.order_by(_COLUMNS.first_seq.desc()).limit(most)
    async with store.read() as connection:
        return [IndexRow(*row) for row in await connection.execute(statement)]


async def first_gap(store: Store, chain: int, seq: int) -> tuple[int, int | None]:
    """Where the first records from a number on are that no row contains.

    Returns:
        The first number, and that of the first record after the gap; `None` if no row follows.
    """
    ranges = (
        select(_COLUMNS.first_seq, _COLUMNS.last_seq)
        .where(_COLUMNS.chain == chain, _COLUMNS.last_seq.between(seq, BEYOND))
        .order_by(_COLUMNS.first_seq)
        .limit(_PAGE)
    )
    while True:
        async with store.read() as connection:
            rows: Sequence[tuple[int, int]] = [
                (row.first_seq, row.last_seq) for row in await connection.execute(ranges)
            ]
        for first_seq, last_seq in rows:
            if first_seq > seq:
                return seq, first_seq
            seq = max(seq, last_seq + 1)
        if len(rows) < _PAGE:
            return seq, None
        ranges = ranges.where(_COLUMNS.first_seq > rows[-1][0])


async def add_row(store: Store, row: IndexRow) -> None:
    """Add a row, unless there is one of a range that starts at the same record."""
    values = {
        "chain": row.chain,
        "first_seq": row.first_seq,
        "last_seq": row.last_seq,
        "names": row.names,
        "seal": row.seal,
    }
    adding = insert_into(audit_index, store.database.dialect).values(**values)
    async with store.append() as connection:
        await connection.execute(adding.on_conflict_do_nothing())


async def delete_rows(store: Store, chain: int, through: int) -> None:
    """Delete the rows of ranges that end at a record, or before it."""
    old = delete(audit_index).where(_COLUMNS.chain == chain, _COLUMNS.last_seq <= through)
    async with store.append() as connection:
        await connection.execute(old)
