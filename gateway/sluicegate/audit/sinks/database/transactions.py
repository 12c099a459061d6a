"""What a transaction of the audit log reads and writes.

The audit log commits for each response. SQLAlchemy's connection pool and its statements would take five
times the CPU time of such a transaction, so the log uses the drivers, with one connection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sluicegate.audit.chain import START, ChainPosition, Head

CHAIN = "database"
"""Name of the chain."""


@dataclass(frozen=True, slots=True)
class StoredHead:
    """The head as it is stored, and where the newest block ends.

    Attributes:
        seal: What authenticates the head; empty in a new database.
        newest: The last line of the newest block, as the block says.
    """

    head: Head
    seal: bytes
    newest: ChainPosition


@dataclass(frozen=True, slots=True)
class Block:
    """A row of `audit_blocks`. `mac` is that of its last line.

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
        head: The new head.
        seal: Its seal.
        block: The new block.
        delete_through: If it is not `None`, blocks are deleted up to the one that contains this line.
    """

    head: Head
    seal: bytes
    block: Block
    delete_through: int | None = None


Changing = Callable[[StoredHead], ChainChange | None]
"""Returns what to write, or `None` for nothing."""


class Transactions(Protocol):
    """Runs transactions that lock the head, each after the previous one, in all processes."""

    async def change(self, changing: Changing) -> None:
        """Lock the head, and write what `changing` returns for it.

        Args:
            changing: Is fast, does no I/O, and can run on another thread.

        Raises:
            Unavailable: The database does not respond within a bounded time, or refuses.
        """

    async def aclose(self) -> None:
        """Close the connection."""


INSERT_HEAD = (
    "INSERT INTO audit_head (id, seq, mac, checkpoint_seq, checkpoint_mac, seal)"
    " VALUES (1, 0, {mac}, 0, {mac}, {seal}) ON CONFLICT DO NOTHING"
)
SELECT_HEAD = (
    "SELECT seq, mac, checkpoint_seq, checkpoint_mac, seal,"
    " (SELECT first_seq + count - 1 FROM audit_blocks ORDER BY first_seq DESC LIMIT 1),"
    " (SELECT mac FROM audit_blocks ORDER BY first_seq DESC LIMIT 1)"
    " FROM audit_head WHERE id = 1"
)


def stored_head(row: tuple[int, bytes, int, bytes, bytes, int | None, bytes | None]) -> StoredHead:
    """The head in a row of `SELECT_HEAD`."""
    seq, mac, checkpoint_seq, checkpoint_mac, seal, newest_seq, newest_mac = row
    newest = START if newest_seq is None else ChainPosition(newest_seq, bytes(newest_mac or b""))
    head = Head(ChainPosition(seq, bytes(mac)), ChainPosition(checkpoint_seq, bytes(checkpoint_mac)))
    return StoredHead(head, bytes(seal), newest)


def head_values(change: ChainChange) -> tuple[int, bytes, int, bytes, bytes]:
    """The values of the head, in the order of the columns."""
    last, checkpoint = change.head.last, change.head.checkpoint
    return last.seq, last.mac, checkpoint.seq, checkpoint.mac, change.seal


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
