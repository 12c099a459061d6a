"""Transactions of the audit log on SQLite, on a dedicated thread and connection."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from sluicegate.api.errors import Unavailable
from sluicegate.audit.chain import START
from sluicegate.audit.sinks.database import statements as sql
from sluicegate.audit.sinks.database.transactions import (
    ChainChange,
    Changing,
    Choosing,
    LockedChain,
    StoredHead,
    block_values,
    chain_row,
    created,
    head_values,
    moved_values,
    stored_head,
)

# Seconds that a transaction waits for those of other processes.
_BUSY_TIMEOUT = 5.0
_T = TypeVar("_T")


class SqliteTransactions:
    """Runs transactions on an SQLite file, which the gateway has opened already."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="audit-log")

    async def claim(self, choosing: Choosing) -> StoredHead:
        """Take the chain that `choosing` returns, and return its end."""
        return await self._run(lambda connection: _claim(connection, choosing))

    async def append(self, chain: int, owner: str, last: int, change: ChainChange) -> bool:
        """Write a block, if the chain belongs to the writer and ends with this line."""
        moved = moved_values(chain, owner, last, change)
        block = (chain, *block_values(change.block))
        return await self._run(lambda connection: _append(connection, moved, block))

    async def change(self, chain: int, changing: Changing) -> None:
        """Lock the file, and write what `changing` returns for the head of a chain."""
        await self._run(lambda connection: _change(connection, chain, changing))

    async def release(self, owner: str) -> None:
        """Let others take the chain of a writer."""
        await self._run(lambda connection: _execute(connection, sql.RELEASE, owner))

    async def aclose(self) -> None:
        """Close the connection, after the last transaction."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    async def _run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._committed, work)

    def _committed(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run work in a transaction, on the thread."""
        try:
            connection = self._connection or self._open()
            connection.execute("BEGIN IMMEDIATE")
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException as error:
            self._close()  # which rolls back
            if isinstance(error, sqlite3.Error):
                raise Unavailable(
                    "the gateway's database can't be written; try again later", detail=str(error)
                ) from error
            raise
        return result

    def _open(self) -> sqlite3.Connection:
        # The file exists: a new one would have no tables.
        connection = sqlite3.connect(
            f"file:{_quoted(self._file)}?mode=rw",
            uri=True,
            timeout=_BUSY_TIMEOUT,
            isolation_level=None,
            check_same_thread=False,
        )
        self._connection = connection
        # Some builds of SQLite have another default in WAL mode, with which a power failure loses the
        # last transactions.
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _quoted(file: str) -> str:
    from urllib.parse import quote

    return quote(file)


def _claim(connection: sqlite3.Connection, choosing: Choosing) -> StoredHead:
    claim = choosing([chain_row(row) for row in _execute(connection, sql.SELECT_CHAINS)])
    for row in created(claim):
        _execute(connection, sql.CREATE_CHAIN, *row)
    if claim.seal is None:
        _execute(connection, sql.TAKE_CHAIN, claim.chain, claim.owner, claim.at)
    locked = LockedChain(claim.chain)
    return stored_head(_execute(connection, locked.sql.select_head, locked.key).fetchone())


def _append(
    connection: sqlite3.Connection,
    moved: tuple[int | bytes | str, ...],
    block: tuple[int | bytes, ...],
) -> bool:
    if _execute(connection, sql.MOVE_HEAD, *moved).rowcount != 1:
        return False
    _execute(connection, sql.NUMBERED_CHAIN.insert_block, *block)
    return True


def _change(connection: sqlite3.Connection, chain: int, changing: Changing) -> None:
    locked = LockedChain(chain)
    row = _execute(connection, locked.sql.select_head, locked.key).fetchone()
    if row is None:
        _execute(connection, locked.sql.insert_head, locked.key, START.mac, b"")
        row = _execute(connection, locked.sql.select_head, locked.key).fetchone()
    change = changing(stored_head(row))
    if change is None:
        return
    if change.delete_through is not None:
        deleted = locked.deleted(change.delete_through)
        _execute(connection, locked.sql.delete_blocks, *deleted)
    _execute(connection, locked.sql.insert_block, *locked.block_values(change.block))
    _execute(connection, locked.sql.update_head, *head_values(locked.key, change))


def _execute(
    connection: sqlite3.Connection, statement: str, *parameters: int | bytes | str
) -> sqlite3.Cursor:
    return connection.execute(_numbered(statement), parameters)


@cache
def _numbered(statement: str) -> str:
    """A statement with the parameters of SQLite: `?1` instead of `$1`."""
    return statement.replace("$", "?")
