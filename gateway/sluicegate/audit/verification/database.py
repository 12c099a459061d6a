"""Verifies the chains in the database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from sluicegate.audit.chain import START, ChainKeys, ChainPosition, Head, parse_line
from sluicegate.audit.encoding import unpack
from sluicegate.audit.sinks.database.claims import REGISTER_BROKEN, registered
from sluicegate.audit.sinks.database.reading import (
    StoredEnd,
    blocks_from,
    chain_numbers,
    read_chains,
    read_end,
)
from sluicegate.audit.sinks.database.transactions import REGISTER_NAME, SHARED, Block, chain_name
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
) -> list[VerifiedChain]:
    """Verify all records that the database contained at the start.

    Returns:
        The results of the chains, the one of earlier versions first if it has records, and of the
        register of chains if it is not intact.
    """
    stored = await chain_numbers(store)
    register = registered(await read_chains(store), keys)
    results = {}
    for number in sorted({*stored, *range(1, register.count + 1)}):
        chain = _Chain(store, keys, number, expected, retention)
        results[number] = await chain.verify()
        if not SHARED <= number <= register.count:
            results[number] = _unregistered(results[number])
    for number, last in list(_sealed_by_others(results)):
        results[number] = await _compared(store, keys, number, results[number], last)
    shared = results[SHARED]
    if len(results) > 1 and shared.records == 0 and shared.finding is None:
        del results[SHARED]
    if not register.is_authentic:
        finding = ChainFinding("head", 0, REGISTER_BROKEN)
        return [*results.values(), VerifiedChain(REGISTER_NAME, 0, 0, START, finding)]
    return [*results.values()]


@dataclass(frozen=True, slots=True)
class _Chain:
    """A chain, which its writer can change meanwhile."""

    store: Store
    keys: ChainKeys
    number: int
    expected: Collection[ChainPosition]
    retention: int | None

    async def verify(self) -> VerifiedChain:
        for _ in range(_ATTEMPTS):
            head = (await self._end()).head
            result = await self._verified(head)
            now = await self._end()
            is_same = head is None or now.head is None or head.checkpoint == now.head.checkpoint
            if result.finding is None or is_same:
                break
        return _with_end(result, now)

    async def _end(self) -> StoredEnd:
        return await read_end(self.store, self.keys, self.number)

    async def _verified(self, head: Head | None) -> VerifiedChain:
        # If the head is missing, the first line is verified only if it is that of a new chain.
        verifier = self._verifier(head.checkpoint if head is not None else None)
        async for block in blocks_from(self.store, self.number):
            if head is not None and block.first_seq > head.last.seq:
                break
            if verifier.last is None and block.first_seq == 1:
                verifier = self._verifier(START)
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

    def _verifier(self, after: ChainPosition | None) -> ChainVerifier:
        name = chain_name(self.number)
        return ChainVerifier(name, self.keys, after, self.expected, self.retention, self.number)


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


def _unregistered(result: VerifiedChain) -> VerifiedChain:
    text = f"a chain {result.chain} was inserted, which no process has registered"
    return replace(result, finding=ChainFinding("inserted", result.first, text))


def _sealed_by_others(results: dict[int, VerifiedChain]) -> Iterator[tuple[int, int]]:
    """Chains, and up to which record other chains say that they were written."""
    for number, result in results.items():
        sealed = [each.sealed.get(number, 0) for each in results.values()]
        if result.finding is None and max(sealed) > result.head.seq:
            yield number, max(sealed)


async def _compared(
    store: Store, keys: ChainKeys, number: int, result: VerifiedChain, last: int
) -> VerifiedChain:
    """The result, with a finding if the chain ends before the record `last` of another chain says."""
    head = (await read_end(store, keys, number)).head
    if head is not None and head.last.seq >= last:
        return result  # written since it was verified
    seq = result.head.seq + 1
    text = f"the records from {seq} to {last} at the end were removed, as another chain says"
    return replace(result, finding=ChainFinding("cut off", seq, text))
