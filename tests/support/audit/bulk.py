"""Chains that are written in bulk, without a process that writes them, and their index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from support.audit.records import KEYS

from sluicegate.audit.chain import START, ChainKeys, ChainPosition
from sluicegate.audit.encoding import encode
from sluicegate.audit.records import AuditRecord
from sluicegate.audit.sinks.database.indexer import Indexer
from sluicegate.audit.sinks.database.transactions import SHARED, Block
from sluicegate.database import Store
from sluicegate.database.tables import audit_blocks, audit_chain_blocks


async def write_blocks(
    store: Store,
    chain: int,
    blocks: Iterable[Sequence[AuditRecord]],
    after: ChainPosition = START,
) -> ChainPosition:
    """Add blocks of records to a chain after a line, and return its last line. It gets no head."""
    sealer = KEYS.sealing_in(chain)
    table, number = (audit_blocks, {}) if chain == SHARED else (audit_chain_blocks, {"chain": chain})
    rows = []
    for records in blocks:
        first_seq = after.seq + 1
        lines, after = sealer.seal([encode(each) for each in records], after)
        times = [each.at for each in records]
        block = Block(first_seq, len(lines), min(times), max(times), after.mac, b"\n".join(lines))
        rows.append(number | {name: getattr(block, name) for name in Block.__slots__})
    async with store.append() as connection:
        await connection.execute(table.insert(), rows)
    return after


async def index_chains(store: Store, *chains: int, keys: ChainKeys = KEYS) -> None:
    """Index all ranges of chains."""
    indexer = Indexer(store, keys)
    for chain in chains:
        while await indexer.index_next(chain):
            pass
