"""What a transaction of the audit log reads and writes.

The audit log commits for each response. SQLAlchemy's connection pool and its statements would take five
times the CPU time of such a transaction, so the log uses the drivers, with one connection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sluicegate._util.clock import epoch_ms
from sluicegate.audit.chain import START, ChainKeys, ChainPosition, Head
from sluicegate.audit.sinks.database.statements import NUMBERED_CHAIN, SHARED_CHAIN

SHARED = 0
"""Number of the chain that all processes of earlier versions have in common."""

DATABASE = "database"
REGISTER_NAME = "register of chains"
"""What stands for the name of a chain in the seal of the register."""


def chain_name(chain: int) -> str:
    """Name of a chain, which its seal covers."""
    return DATABASE if chain == SHARED else f"{DATABASE} {chain}"


def is_authentic(
    keys: ChainKeys, chain: int, head: Head, seal: bytes, *, has_blocks: bool = True
) -> bool:
    """Whether a key has sealed a head, or it is that of a new database."""
    if chain == SHARED and seal == b"" and head == Head() and not has_blocks:
        return True  # numbered chains are sealed when they are registered
    return keys.accepts_head(chain_name(chain), head, seal)


@dataclass(frozen=True, slots=True)
class StoredHead:
    """The head as it is stored, and where the newest block ends.

    Attributes:
        seal: What authenticates the head; empty in a new database.
    """

    head: Head
    seal: bytes
    newest: ChainPosition


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that were written together. `mac` is that of the last one.

    Only its records are authenticated, by their MACs.
    """

    first_seq: int
    count: int
    first_at: int
    last_at: int
    mac: bytes
    records: bytes


@dataclass(frozen=True, slots=True)
class ChainChange:
    """What a transaction writes.

    Attributes:
        delete_through: If it is not `None`, blocks are deleted up to the one that contains this line.
    """

    head: Head
    seal: bytes
    block: Block
    delete_through: int | None = None


@dataclass(frozen=True, slots=True)
class ChainRow:
    """A row of `audit_chains`.

    Attributes:
        owner: Id of the writer, or empty.
        renewed_at: When the owner wrote last, epoch milliseconds.
    """

    chain: int
    head: Head
    seal: bytes
    owner: str
    renewed_at: int


@dataclass(frozen=True, slots=True)
class Claim:
    """The chain that a writer takes.

    Attributes:
        at: Now, epoch milliseconds.
        seal: The seal of its empty head, if the chain is created.
    """

    chain: int
    owner: str
    at: int
    seal: bytes | None = None
    chains: tuple[int, bytes] | None = None


Changing = Callable[[StoredHead], ChainChange | None]
"""Returns what to write, or `None` for nothing."""

Choosing = Callable[[Sequence[ChainRow]], Claim]
"""Returns the chain to take, of all rows of `audit_chains`."""


class Transactions(Protocol):
    """Runs transactions on one connection, in sequence."""

    async def claim(self, choosing: Choosing) -> StoredHead:
        """Take the chain that `choosing` returns, and return its end."""

    async def append(self, chain: int, owner: str, last: int, change: ChainChange) -> bool:
        """Write a block, without waiting for the writers of other chains.

        Returns:
            Whether the chain belonged to the writer and ended with this line. Otherwise, nothing is
            written.
        """

    async def change(self, chain: int, changing: Changing) -> None:
        """Lock the head of a chain, and write what `changing` returns for it."""

    async def release(self, owner: str) -> None:
        """Let others take the chain of a writer."""

    async def aclose(self) -> None:
        """Close the connection."""


class LockedChain:
    """The statements of a chain whose head is locked, and their parameters."""

    def __init__(self, chain: int) -> None:
        self.sql = SHARED_CHAIN if chain == SHARED else NUMBERED_CHAIN
        self.key = 1 if chain == SHARED else chain
        self._number = () if chain == SHARED else (chain,)

    def block_values(self, block: Block) -> tuple[int | bytes, ...]:
        """The parameters of `insert_block`."""
        return (*self._number, *block_values(block))

    def deleted(self, through: int) -> tuple[int, ...]:
        """The parameters of `delete_blocks`."""
        return (*self._number, through)


def chain_row(row: tuple[int, int, bytes, int, bytes, bytes, str, int]) -> ChainRow:
    """A row of `SELECT_CHAINS`."""
    chain, seq, mac, checkpoint_seq, checkpoint_mac, seal, owner, renewed_at = row
    head = Head(ChainPosition(seq, bytes(mac)), ChainPosition(checkpoint_seq, bytes(checkpoint_mac)))
    return ChainRow(chain, head, bytes(seal), owner, renewed_at)


def stored_head(
    row: tuple[int, bytes, int, bytes, bytes, int | None, bytes | None] | None,
) -> StoredHead:
    """The head in a row of `select_head`; one without a seal if the row is missing."""
    if row is None:
        return StoredHead(Head(), b"", START)
    seq, mac, checkpoint_seq, checkpoint_mac, seal, newest_seq, newest_mac = row
    newest = START if newest_seq is None else ChainPosition(newest_seq, bytes(newest_mac or b""))
    head = Head(ChainPosition(seq, bytes(mac)), ChainPosition(checkpoint_seq, bytes(checkpoint_mac)))
    return StoredHead(head, bytes(seal), newest)


def head_values(key: int, change: ChainChange) -> tuple[int, int, bytes, int, bytes, bytes]:
    """The parameters of `update_head`."""
    last, checkpoint = change.head.last, change.head.checkpoint
    return key, last.seq, last.mac, checkpoint.seq, checkpoint.mac, change.seal


def moved_values(
    chain: int, owner: str, last: int, change: ChainChange
) -> tuple[int | bytes | str, ...]:
    """The parameters of `MOVE_HEAD`."""
    return (*head_values(chain, change), epoch_ms(), owner, last)


def block_values(block: Block) -> tuple[int, int, int, int, bytes, bytes]:
    """The values of a block, in the order of the columns."""
    return (
        block.first_seq,
        block.count,
        block.first_at,
        block.last_at,
        block.mac,
        block.records,
    )


def created(claim: Claim) -> list[tuple[int, int, bytes, bytes, str, int]]:
    """The parameters of `CREATE_CHAIN` for the rows that a claim writes."""
    rows = []
    if claim.chains is not None:
        number, seal = claim.chains
        rows.append((0, number, START.mac, seal, "", 0))
    if claim.seal is not None:
        rows.append((claim.chain, 0, START.mac, claim.seal, claim.owner, claim.at))
    return rows
