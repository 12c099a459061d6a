"""Finds the blocks at the start of a chain in the database that are old enough to be deleted."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import anyio.to_thread

from sluicegate.audit.chain import ChainKeys
from sluicegate.audit.encoding import unpack
from sluicegate.audit.expiry import ExpiredRecords, ExpiryCheck
from sluicegate.audit.sinks.database.reading import pages_from, read_end
from sluicegate.audit.sinks.database.transactions import Block, chain_name
from sluicegate.database import Store

log = logging.getLogger(__name__)

# Blocks that are deleted in one transaction, which their writer waits for.
_DELETED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class ExpiredBlocks:
    """Blocks at the start of a chain whose records are all old."""

    first_seq: int
    records: ExpiredRecords


async def expired_blocks(
    store: Store, keys: ChainKeys, chain: int, oldest: int
) -> ExpiredBlocks | None:
    """The first blocks of a chain, as far as they only contain records from before a time."""
    head = (await read_end(store, keys, chain)).head
    if head is None:
        return None  # the next record says so, and has a new head
    search = _ExpiredSearch(ExpiryCheck(keys, head.checkpoint, oldest, chain))
    async for page in pages_from(store, chain):
        if not await anyio.to_thread.run_sync(search.feed, page):
            break
    if search.check.problem is not None:
        log.error(
            "old records of the audit log (%s) are not deleted, because it was changed: %s; run "
            "sluicegate audit verify",
            chain_name(chain),
            search.check.problem,
        )
    return search.expired


class _ExpiredSearch:
    """Takes the blocks of a chain in their order, until one is not old."""

    def __init__(self, check: ExpiryCheck) -> None:
        self.check = check
        self.expired: ExpiredBlocks | None = None
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
                self.expired = ExpiredBlocks(block.first_seq, records)
            self._number += 1
            if not more or (self.expired is not None and self._number >= _DELETED_AT_ONCE):
                return False
        return True
