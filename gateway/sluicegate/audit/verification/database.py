"""Verifies the chain in the database."""

from __future__ import annotations

from collections.abc import Collection

from sluicegate.audit.blocks import unpack
from sluicegate.audit.chain import START, ChainKeys, ChainPosition, Head
from sluicegate.audit.reading.database import blocks_from, read_head
from sluicegate.audit.sinks.database.transactions import CHAIN
from sluicegate.audit.verification.findings import VerifiedChain
from sluicegate.audit.verification.verifier import ChainVerifier
from sluicegate.database import Store

# Attempts if the gateway deletes old records meanwhile.
_ATTEMPTS = 3


async def verify_database(
    store: Store, keys: ChainKeys, expected: Collection[ChainPosition] = ()
) -> VerifiedChain:
    """Verify all records that the database contained at the start.

    Args:
        store: The open database.
        keys: The keys of the chain.
        expected: Positions that earlier verifications returned.

    Raises:
        Unavailable: The database does not respond.
    """
    for _ in range(_ATTEMPTS):
        head = await read_head(store, keys)
        result = await _verify(store, keys, head, expected)
        now = await read_head(store, keys)
        is_same = head is None or now is None or head.checkpoint == now.checkpoint
        if result.finding is None or is_same:
            break
    return result


async def _verify(
    store: Store, keys: ChainKeys, head: Head | None, expected: Collection[ChainPosition]
) -> VerifiedChain:
    # If the head is missing, the first line is verified only if it is that of a new chain.
    after = head.checkpoint if head is not None else None
    verifier = ChainVerifier(CHAIN, keys, after, expected)
    async for block in blocks_from(store):
        if head is not None and block.first_seq > head.last.seq:
            break
        if verifier.last is None and block.first_seq == 1:
            verifier = ChainVerifier(CHAIN, keys, START, expected)
        try:
            lines = unpack(block.records)
        except ValueError as error:
            verifier.unreadable(str(error))
            break
        for line in lines:
            verifier.feed(line)
        if verifier.is_done:
            break
    return verifier.finish(head)
