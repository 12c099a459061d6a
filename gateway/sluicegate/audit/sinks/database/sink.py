"""Writes records to the database."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import Unavailable
from sluicegate.audit.chain import ChainKeys, Head, Sealer
from sluicegate.audit.encoding import Packer
from sluicegate.audit.own_records import LogEntry, broken, deleted, heads
from sluicegate.audit.sinks.database.claims import REGISTER_BROKEN, choose, is_free, registered
from sluicegate.audit.sinks.database.expiry import ExpiredBlocks, expired_blocks
from sluicegate.audit.sinks.database.index_rows import delete_rows
from sluicegate.audit.sinks.database.indexer import Indexer
from sluicegate.audit.sinks.database.reading import read_chains, read_neighbors
from sluicegate.audit.sinks.database.transactions import (
    DATABASE,
    SHARED,
    Block,
    ChainChange,
    ChainRow,
    Claim,
    StoredHead,
    Transactions,
    chain_name,
    is_authentic,
)
from sluicegate.database import Store

log = logging.getLogger(__name__)

# Chains whose ends a process seals.
_NEIGHBORS = 16
# How often a writer looks for another chain if others take those that it has chosen.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class _OwnChain:
    """The chain of this writer."""

    chain: int
    sealer: Sealer
    head: Head
    stored_seq: int
    notes: Sequence[LogEntry] = ()


class DatabaseSink:
    """Writes blocks to its own chain, so that it waits for no other process.

    It takes a chain with its first block. If another process takes this chain, for example because this
    one was suspended, the next block is written to another chain.
    """

    name = DATABASE

    def __init__(self, transactions: Transactions, store: Store, keys: ChainKeys) -> None:
        self._transactions = transactions
        self._store = store
        self._keys = keys
        self._packer = Packer()
        self._indexer = Indexer(store, keys)
        self._owner = secrets.token_hex(8)
        self._own: _OwnChain | None = None
        self._known: tuple[int, int] | None = None  # a chain, and its last line
        # Not once another process has taken the chain of this one: their clocks can differ, and both
        # would take chains from each other forever.
        self._takes_stale = True
        self._sealed: dict[int, int] = {}
        self._writing = asyncio.Lock()

    async def append(self, entries: Sequence[LogEntry]) -> None:
        """Add records to the chain, in one block."""
        async with self._writing:
            await self._append(entries)

    async def _append(self, entries: Sequence[LogEntry]) -> None:
        for _ in range(_ATTEMPTS):
            # What this says is unknown if the transaction fails.
            own, self._own = self._own or await self._claimed(), None
            change = self._extended(own.chain, own.sealer, own.head, [*own.notes, *entries])
            if await self._transactions.append(own.chain, self._owner, own.stored_seq, change):
                last = change.head.last.seq
                self._own = _OwnChain(own.chain, own.sealer, change.head, last)
                self._known = own.chain, last
                return
            self._takes_stale = False
        raise Unavailable(
            "the gateway's database can't be written; try again later",
            detail="other processes write to each chain of the audit log",
        )

    async def delete_before(self, oldest: int) -> None:
        """Delete the oldest blocks that only contain records from before `oldest`, epoch milliseconds.

        Those of other processes that write are left to them.
        """
        for chain in [SHARED, *await self._maintained()]:
            while (expired := await expired_blocks(self._store, self._keys, chain, oldest)) is not None:
                async with self._writing:
                    if self._own is not None and self._own.chain == chain:
                        self._own = None  # its head changes
                    removing = partial(self._without, chain, expired, oldest)
                    await self._transactions.change(chain, removing)
                await delete_rows(self._store, chain, expired.records.last.seq)

    async def seal_others(self) -> None:
        """Record where other chains end, so that their ends can't be removed without a trace."""
        if self._known is None:
            return
        ends: dict[int, str] = {}
        for row in await read_neighbors(self._store, self._known[0], _NEIGHBORS):
            last, sealed = row.head.last, self._sealed.get(row.chain, 0)
            # If a single record was added, it can be one that seals this chain.
            if last.seq > sealed + 1 and is_authentic(self._keys, row.chain, row.head, row.seal):
                ends[row.chain] = str(last)
                self._sealed[row.chain] = last.seq
        if ends:
            await self.append([heads(ends)])

    async def index_records(self) -> bool:
        """Index a range of its chain, or of one that nobody writes, unless all are indexed."""
        for chain in [SHARED, *await self._maintained()]:
            if await self._indexer.index_next(chain):
                return True
        return False

    async def aclose(self) -> None:
        """Let others take the chain, and close the connection."""
        try:
            if self._known is not None:
                await self._transactions.release(self._owner)
        except Unavailable:
            pass  # the chain is free after some time
        finally:
            await self._transactions.aclose()

    async def _maintained(self) -> list[int]:
        rows, now = await read_chains(self._store), epoch_ms()
        count = registered(rows, self._keys).count
        return [
            row.chain
            for row in rows
            if 0 < row.chain <= count and (row.owner == self._owner or is_free(row, now))
        ]

    async def _claimed(self) -> _OwnChain:
        """Take a chain, and find out whether anything is wrong with it."""
        problems: list[str] = []
        taken: list[int] = []

        def choosing(rows: Sequence[ChainRow]) -> Claim:
            register = registered(rows, self._keys)
            if not register.is_authentic:
                problems.append(REGISTER_BROKEN)
            now, takes_stale = epoch_ms(), self._takes_stale
            claim = choose(rows, register, self._keys, self._owner, now, takes_stale=takes_stale)
            taken.append(claim.chain)
            return claim

        stored = await self._transactions.claim(choosing)
        chain = taken[-1]
        head, problem = self._authenticated(chain, stored)
        if problem is None and self._known is not None:
            known, last = self._known
            if known == chain and head.last.seq < last:
                problem = f"records up to {last}, which this process has written, are missing"
        if problem is not None:
            problems.append(problem)
        sealer, stored_seq = self._keys.sealing_in(chain), stored.head.last.seq
        if not problems:
            return _OwnChain(chain, sealer, head, stored_seq)
        reason = "; ".join(problems)
        log.error("the audit log in the database was changed, or its key was lost: %s", reason)
        return _OwnChain(chain, sealer, head, stored_seq, [broken(reason, str(head.last))])

    def _without(
        self, chain: int, expired: ExpiredBlocks, oldest: int, stored: StoredHead
    ) -> ChainChange | None:
        """The change that deletes the oldest blocks, unless another process has deleted them."""
        last = expired.records.last
        count = last.seq - stored.head.checkpoint.seq
        head, problem = self._authenticated(chain, stored)
        if count <= 0:
            return None
        notes = [] if problem is None else [broken(problem, str(head.last))]
        note = deleted(count, str(last), expired.records.last_at, {"before": oldest})
        rest = Head(head.last, last)
        return self._extended(
            chain, self._keys.sealing_in(chain), rest, [*notes, note], delete_through=expired.first_seq
        )

    def _extended(
        self,
        chain: int,
        sealer: Sealer,
        head: Head,
        entries: Sequence[LogEntry],
        *,
        delete_through: int | None = None,
    ) -> ChainChange:
        """The change that adds records after a head."""
        lines, last = sealer.seal([entry.body for entry in entries], head.last)
        extended = Head(last, head.checkpoint)
        times = [entry.at for entry in entries]
        first_seq = head.last.seq + 1
        packed = self._packer.pack(lines)
        block = Block(first_seq, len(lines), min(times), max(times), last.mac, packed)
        seal = sealer.head_seal(chain_name(chain), extended)
        return ChainChange(extended, seal, block, delete_through)

    def _authenticated(self, chain: int, stored: StoredHead) -> tuple[Head, str | None]:
        """The head after which the chain continues, and what is wrong with it, if anything is.

        The gateway continues after a head that it did not write, because otherwise a lost key would
        stop it for good. It records what is wrong, so that each later verification fails.
        """
        head, newest = stored.head, stored.newest
        has_blocks = newest.seq != 0
        if not is_authentic(self._keys, chain, head, stored.seal, has_blocks=has_blocks):
            problem = "no configured key has sealed the head of the chain"
        elif newest.seq > head.last.seq:
            problem = "the database contains records after the end of the chain"
        else:
            return head, None
        return Head(newest if newest.seq > head.last.seq else head.last, head.checkpoint), problem
