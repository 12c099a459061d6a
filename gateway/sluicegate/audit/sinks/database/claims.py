"""Chooses the chain that a process writes.

A process continues a chain that no other process writes, or registers a new one. The register contains
the number of chains, so that a removed chain is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sluicegate.audit.chain import GENESIS, ChainKeys, ChainPosition, Head
from sluicegate.audit.sinks.database.transactions import (
    REGISTER_NAME,
    ChainRow,
    Claim,
    chain_name,
)

STALE = 60_000
"""Milliseconds after which the chain of a process that writes nothing can be taken by another one."""

REGISTER_BROKEN = "no configured key has sealed the register of chains"


@dataclass(frozen=True, slots=True)
class Register:
    """The registered chains.

    Attributes:
        count: Their number. They have the numbers from 1 on.
    """

    count: int
    is_authentic: bool


def registered(rows: Iterable[ChainRow], keys: ChainKeys) -> Register:
    """The register in the rows of `audit_chains`.

    If no key has sealed it, it consists of the chains from 1 on without a gap.
    """
    by_chain = {row.chain: row for row in rows}
    register = by_chain.pop(0, None)
    count = next(number for number in range(len(by_chain) + 1) if number + 1 not in by_chain)
    if register is None:
        return Register(count, is_authentic=False)
    if register.seal == b"" and register.head == Head():
        return Register(count, is_authentic=count == 0)
    if not keys.accepts_head(REGISTER_NAME, register.head, register.seal):
        return Register(count, is_authentic=False)
    return Register(register.head.last.seq, is_authentic=True)


def choose(
    rows: Sequence[ChainRow],
    register: Register,
    keys: ChainKeys,
    owner: str,
    now: int,
    *,
    takes_stale: bool,
) -> Claim:
    """The chain that a process takes."""
    chains = {row.chain: row for row in rows if 0 < row.chain <= register.count}
    repaired = None if register.is_authentic else _sealed_register(register.count, keys)
    own = [row.chain for row in chains.values() if row.owner == owner]
    if own:
        return Claim(own[0], owner, now, chains=repaired)
    if len(chains) < register.count:
        # Its head was removed. The new one has no seal, so that the writer records this.
        missing = next(each for each in range(1, register.count + 1) if each not in chains)
        return Claim(missing, owner, now, b"", repaired)
    free = [
        row.chain for row in chains.values() if row.owner == "" or (takes_stale and is_free(row, now))
    ]
    if free:
        return Claim(free[0], owner, now, chains=repaired)
    chain = register.count + 1
    seal = keys.sealing_in(chain).head_seal(chain_name(chain), Head())
    return Claim(chain, owner, now, seal, _sealed_register(chain, keys))


def is_free(row: ChainRow, now: int) -> bool:
    """Whether no process writes a chain."""
    return row.owner == "" or abs(now - row.renewed_at) > STALE


def _sealed_register(count: int, keys: ChainKeys) -> tuple[int, bytes]:
    head = Head(ChainPosition(count, GENESIS))
    return count, keys.sealing.head_seal(REGISTER_NAME, head)
