"""Writes the chain to the database."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from sluicegate.audit.blocks import Packer, unpack
from sluicegate.audit.chain import ChainKeys, Head
from sluicegate.audit.expiry import ExpiredRecords, ExpiryCheck
from sluicegate.audit.own_records import LogEntry, broken, deleted
from sluicegate.audit.sinks.database.reading import pages_from, read_head
from sluicegate.audit.sinks.database.transactions import (
    CHAIN,
    Block,
    ChainChange,
    StoredHead,
    Transactions,
)
from sluicegate.database import Store

log = logging.getLogger(__name__)

# Blocks that are deleted in one transaction, which other writers wait for.
_DELETED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class _ExpiredBlocks:
    """Blocks at the start of the chain whose records are all old.

    Attributes:
        first_seq: The column of this name of the last block. Others can have a changed column, too.
    """

    first_seq: int
    records: ExpiredRecords


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
        while (expired := await self._expired(oldest)) is not None:
            await self._transactions.change(partial(self._without, expired, oldest))

    async def aclose(self) -> None:
        """Close the connection."""
        await self._transactions.aclose()

    def _without(self, expired: _ExpiredBlocks, oldest: int, stored: StoredHead) -> ChainChange | None:
        """The change that deletes the oldest blocks, unless another process has deleted them."""
        last = expired.records.last
        count = last.seq - stored.head.checkpoint.seq
        if count <= 0:
            return None
        note = deleted(count, str(last), expired.records.last_at, {"before": oldest})
        return self._extended(stored, [note], expired)

    def _extended(
        self,
        stored: StoredHead,
        entries: Sequence[LogEntry],
        expired: _ExpiredBlocks | None = None,
    ) -> ChainChange:
        """The change that adds records."""
        head, notes = self._authenticated(stored)
        added = [*notes, *entries]
        sealer = self._keys.sealing
        lines, last = sealer.seal([entry.body for entry in added], head.last)
        extended = Head(last, head.checkpoint if expired is None else expired.records.last)
        times = [entry.at for entry in added]
        block = Block(
            head.last.seq + 1, len(lines), min(times), max(times), last.mac, self._packer.pack(lines)
        )
        return ChainChange(
            extended,
            sealer.head_seal(CHAIN, extended),
            block,
            None if expired is None else expired.first_seq,
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

    async def _expired(self, oldest: int) -> _ExpiredBlocks | None:
        """The first blocks, as far as they only contain records from before a time."""
        head = await read_head(self._store, self._keys)
        if head is None:
            return None  # the next record says so, and has a new head
        search = _ExpiredSearch(ExpiryCheck(self._keys, head.checkpoint, oldest))
        async for page in pages_from(self._store):
            if not await anyio.to_thread.run_sync(search.feed, page):
                break
        if search.check.problem is not None:
            log.error(
                "old records of the audit log in the database are not deleted, because it was changed: "
                "%s; run sluicegate audit verify",
                search.check.problem,
            )
        return search.expired


class _ExpiredSearch:
    """Takes the blocks of the database in their order, until one is not old."""

    def __init__(self, check: ExpiryCheck) -> None:
        self.check = check
        self.expired: _ExpiredBlocks | None = None
        self._number = 0

    def feed(self, blocks: Sequence[Block]) -> bool:
        """Take the next blocks, and return whether more are needed."""
        for block in blocks:
            try:
                more = self.check.feed(unpack(block.records))
            except ValueError:
                self.check.skip_unreadable()
                continue
            records = self.check.expired
            if records is not None and (self.expired is None or records != self.expired.records):
                self.expired = _ExpiredBlocks(block.first_seq, records)
            self._number += 1
            if not more or (self.expired is not None and self._number >= _DELETED_AT_ONCE):
                return False
        return True
