"""Verifies the chain in the database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from sluicegate.audit.blocks import unpack
from sluicegate.audit.chain import START, ChainKeys, ChainPosition, Head, parse_line
from sluicegate.audit.sinks.database.reading import StoredEnd, blocks_from, read_end
from sluicegate.audit.sinks.database.transactions import CHAIN, Block
from sluicegate.audit.times import span_of
from sluicegate.audit.verification.findings import ChainFinding, VerifiedChain
from sluicegate.audit.verification.verifier import ChainVerifier
from sluicegate.database import Store

# Attempts if the gateway deletes old records meanwhile.
_ATTEMPTS = 3


async def verify_database(
    store: Store,
    keys: ChainKeys,
    expected: Collection[ChainPosition] = (),
    retention: int | None = None,
) -> VerifiedChain:
    """Verify all records that the database contained at the start.

    Args:
        store: The open database.
        keys: The keys of the chain.
        expected: Positions that earlier verifications returned.
        retention: Seconds for which the configuration keeps records, if it is known.

    Raises:
        Unavailable: The database does not respond.
    """
    for _ in range(_ATTEMPTS):
        head = (await read_end(store, keys)).head
        result = await _verify(store, keys, head, expected, retention)
        now = await read_end(store, keys)
        is_same = head is None or now.head is None or head.checkpoint == now.head.checkpoint
        if result.finding is None or is_same:
            break
    return _with_end(result, now)


async def _verify(
    store: Store,
    keys: ChainKeys,
    head: Head | None,
    expected: Collection[ChainPosition],
    retention: int | None,
) -> VerifiedChain:
    # If the head is missing, the first line is verified only if it is that of a new chain.
    after = head.checkpoint if head is not None else None
    verifier = ChainVerifier(CHAIN, keys, after, expected, retention)
    async for block in blocks_from(store):
        if head is not None and block.first_seq > head.last.seq:
            break
        if verifier.last is None and block.first_seq == 1:
            verifier = ChainVerifier(CHAIN, keys, START, expected, retention)
        try:
            lines = unpack(block.records)
        except ValueError as error:
            verifier.unreadable(str(error))
            break
        for line in lines:
            verifier.feed(line)
        if verifier.is_done:
            break
        for difference in _differences(block, lines):
            verifier.mislabelled(block.first_seq, difference)
    return verifier.finish(head)


def _differences(block: Block, lines: Sequence[bytes]) -> Iterator[str]:
    """How the columns of a block differ from its verified lines."""
    try:
        first, last = parse_line(lines[0]), parse_line(lines[-1])
    except ValueError:
        return  # the verifier has found it
    span = span_of(lines)
    sealed = {"first_seq": first.seq, "count": len(lines), "mac": last.mac}
    if span is not None:
        sealed |= {"first_at": span.first, "last_at": span.last}
    for column, value in sealed.items():
        if getattr(block, column) != value:
            yield f"the column {column} of the block with record {first.seq} was changed"


def _with_end(result: VerifiedChain, end: StoredEnd) -> VerifiedChain:
    """The result, with what is wrong after the end of the chain."""
    if result.finding is not None or end.head is None or not end.is_exceeded:
        return result
    seq = end.head.last.seq + 1
    text = f"a block was inserted after record {end.head.last.seq}, the end of the chain"
    return replace(result, finding=ChainFinding("inserted", seq, text))
