"""The statements of the audit log. Parameters are written as `$1`, as PostgreSQL does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeadStatements:
    """Statements about a chain whose head is locked.

    The first parameter of those about the head is its key. See `LockedChain` for the other ones.
    """

    select_head: str
    insert_head: str
    update_head: str
    insert_block: str
    delete_blocks: str


SHARED_CHAIN = HeadStatements(
    select_head=(
        "SELECT seq, mac, checkpoint_seq, checkpoint_mac, seal,"
        " (SELECT first_seq + count - 1 FROM audit_blocks ORDER BY first_seq DESC LIMIT 1),"
        " (SELECT mac FROM audit_blocks ORDER BY first_seq DESC LIMIT 1)"
        " FROM audit_head WHERE id = $1"
    ),
    insert_head=(
        "INSERT INTO audit_head (id, seq, mac, checkpoint_seq, checkpoint_mac, seal)"
        " VALUES ($1, 0, $2, 0, $2, $3) ON CONFLICT DO NOTHING"
    ),
    update_head=(
        "UPDATE audit_head SET seq = $2, mac = $3, checkpoint_seq = $4, checkpoint_mac = $5, seal = $6"
        " WHERE id = $1"
    ),
    insert_block=(
        "INSERT INTO audit_blocks (first_seq, count, first_at, last_at, mac, records)"
        " VALUES ($1, $2, $3, $4, $5, $6)"
    ),
    delete_blocks="DELETE FROM audit_blocks WHERE first_seq <= $1",
)
"""Of the chain of earlier versions."""

NUMBERED_CHAIN = HeadStatements(
    select_head=(
        "SELECT seq, mac, checkpoint_seq, checkpoint_mac, seal,"
        " (SELECT first_seq + count - 1 FROM audit_chain_blocks WHERE chain = $1"
        " ORDER BY first_seq DESC LIMIT 1),"
        " (SELECT mac FROM audit_chain_blocks WHERE chain = $1 ORDER BY first_seq DESC LIMIT 1)"
        " FROM audit_chains WHERE chain = $1"
    ),
    insert_head=(
        "INSERT INTO audit_chains"
        " (chain, seq, mac, checkpoint_seq, checkpoint_mac, seal, owner, renewed_at)"
        " VALUES ($1, 0, $2, 0, $2, $3, '', 0) ON CONFLICT DO NOTHING"
    ),
    update_head=(
        "UPDATE audit_chains SET seq = $2, mac = $3, checkpoint_seq = $4, checkpoint_mac = $5,"
        " seal = $6 WHERE chain = $1"
    ),
    insert_block=(
        "INSERT INTO audit_chain_blocks (chain, first_seq, count, first_at, last_at, mac, records)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7)"
    ),
    delete_blocks="DELETE FROM audit_chain_blocks WHERE chain = $1 AND first_seq <= $2",
)

MOVE_HEAD = (
    "UPDATE audit_chains SET seq = $2, mac = $3, checkpoint_seq = $4, checkpoint_mac = $5, seal = $6,"
    " renewed_at = $7 WHERE chain = $1 AND owner = $8 AND seq = $9"
)
APPEND = (
    "WITH moved AS (UPDATE audit_chains SET seq = $2, mac = $3, checkpoint_seq = $4,"
    " checkpoint_mac = $5, seal = $6, renewed_at = $7 WHERE chain = $1 AND owner = $8 AND seq = $9"
    " RETURNING chain)"
    " INSERT INTO audit_chain_blocks (chain, first_seq, count, first_at, last_at, mac, records)"
    " SELECT chain, $10::bigint, $11::integer, $12::bigint, $13::bigint, $14::bytea, $15::bytea"
    " FROM moved"
)
"""`MOVE_HEAD` and the block in one statement for PostgreSQL, so that one round trip suffices."""

LOCK_REGISTER = "SELECT chain FROM audit_chains WHERE chain = 0 FOR UPDATE"
SELECT_CHAINS = (
    "SELECT chain, seq, mac, checkpoint_seq, checkpoint_mac, seal, owner, renewed_at FROM audit_chains"
    " ORDER BY chain"
)
CREATE_CHAIN = (
    "INSERT INTO audit_chains"
    " (chain, seq, mac, checkpoint_seq, checkpoint_mac, seal, owner, renewed_at)"
    " VALUES ($1, $2, $3, 0, $3, $4, $5, $6) ON CONFLICT (chain) DO UPDATE SET seq = excluded.seq,"
    " mac = excluded.mac, checkpoint_seq = 0, checkpoint_mac = excluded.mac, seal = excluded.seal,"
    " owner = excluded.owner, renewed_at = excluded.renewed_at"
)
"""Also replaces the register, or a row that nobody registered."""

TAKE_CHAIN = "UPDATE audit_chains SET owner = $2, renewed_at = $3 WHERE chain = $1"
RELEASE = "UPDATE audit_chains SET owner = '' WHERE owner = $1"
