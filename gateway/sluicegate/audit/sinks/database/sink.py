"""Writes the chain to the database."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from sqlalchemy import select

from sluicegate.audit.blocks import Packer
from sluicegate.audit.chain import ChainKeys, ChainPosition, Head
from sluicegate.audit.own_records import LogEntry, broken, deleted
from sluicegate.audit.sinks.database.transactions import (
    CHAIN,
    Block,
    ChainChange,
    StoredHead,
    Transactions,
)
from sluicegate.database import Store
from sluicegate.database.tables import audit_blocks

log = logging.getLogger(__name__)

# Blocks that are deleted in one transaction, which other writers wait for.
_DELETED_AT_ONCE = 1_000


class DatabaseSink:
    """Writes blocks to one chain, which all processes with this database have in common.

    Args:
        transactions: Run the transactions that write.
        store: The open database, for reads.
        keys: The keys of the chain.
    """

    name = CHAIN

    def __init__(self, transactions: Transactions, store: Store, keys: ChainKeys) -> None:
        self._transactions = transactions
        self._store = store
        self._keys = keys
        self._packer = Packer()

    async def append(self, entries: Sequence[LogEntry]) -> None:
        """Add records to the chain, in one block.

        Raises:
            Unavailable: The database does not respond within a bounded time, or refuses.
        """
        await self._transactions.change(lambda stored: self._extended(stored, entries))

    async def delete_before(self, oldest: int) -> None:
        """Delete the oldest blocks that only contain records from before `oldest`, epoch milliseconds.

        Raises:
            Unavailable: The database does not respond.
        """
        while (through := await self._last_before(oldest)) is not None:
            await self._transactions.change(partial(self._without, through))

    async def aclose(self) -> None:
        """Close the connection."""
        await self._transactions.aclose()

    def _without(self, through: ChainPosition, stored: StoredHead) -> ChainChange | None:
        """The change that deletes the oldest blocks, unless another process has deleted them."""
        count = through.seq - stored.head.checkpoint.seq
        return self._extended(stored, [deleted(count, str(through))], through) if count > 0 else None

    def _extended(
        self,
        stored: StoredHead,
        entries: Sequence[LogEntry],
        deleted_through: ChainPosition | None = None,
    ) -> ChainChange:
        """The change that adds records."""
        head, notes = self._authenticated(stored)
        added = [*notes, *entries]
        sealer = self._keys.sealing
        lines, last = sealer.seal([entry.body for entry in added], head.last)
        extended = Head(last, deleted_through or head.checkpoint)
        times = [entry.at for entry in added]
        block = Block(
            head.last.seq + 1, len(lines), min(times), max(times), last.mac, self._packer.pack(lines)
        )
        return ChainChange(
            extended,
            sealer.head_seal(CHAIN, extended),
            block,
            None if deleted_through is None else deleted_through.seq,
        )

    def _authenticated(self, stored: StoredHead) -> tuple[Head, Sequence[LogEntry]]:
        """The head, and a record of what is wrong with it, if anything is.

        The gateway continues with a head that it did not write, because otherwise a lost key would stop
        it for good. The record makes each later verification fail.
        """
        head, newest = stored.head, stored.newest
        if stored.seal == b"" and head == Head() and newest.seq == 0:
            return head, ()
        if not self._keys.accepts_head(CHAIN, head, stored.seal):
            reason = "no configured key has sealed the head of the chain"
        elif newest.seq > head.last.seq:
            reason = "the database contains records after the end of the chain"
        else:
            return head, ()
        last = newest if newest.seq > head.last.seq else head.last
        log.error("the audit log in the database was changed, or its key was lost: %s", reason)
        return Head(last, head.checkpoint), (broken(reason, str(last)),)

    async def _last_before(self, oldest: int) -> ChainPosition | None:
        """The end of the first blocks, as far as they only contain records from before a time."""
        blocks = audit_blocks.c
        first = (
            select(blocks.first_seq, blocks.count, blocks.mac, blocks.last_at)
            .order_by(blocks.first_seq)
            .limit(_DELETED_AT_ONCE)
        )
        last = None
        async with self._store.read() as connection:
            for row in await connection.execute(first):
                if row.last_at >= oldest:
                    break
                last = ChainPosition(row.first_seq + row.count - 1, row.mac)
        return last
