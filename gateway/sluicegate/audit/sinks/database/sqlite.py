"""Transactions of the audit log on SQLite, on a dedicated thread and connection."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor

from sluicegate.api.errors import Unavailable
from sluicegate.audit.sinks.database.transactions import (
    INSERT_HEAD,
    SELECT_HEAD,
    Changing,
    block_values,
    head_values,
    stored_head,
)

# Seconds that a transaction waits for those of other processes.
_BUSY_TIMEOUT = 5.0
_INSERT_HEAD = INSERT_HEAD.format(mac="zeroblob(32)", seal="zeroblob(0)")
_UPDATE_HEAD = (
    "UPDATE audit_head SET seq = ?, mac = ?, checkpoint_seq = ?, checkpoint_mac = ?, seal = ?"
    " WHERE id = 1"
)
_INSERT_BLOCK = (
    "INSERT INTO audit_blocks (first_seq, count, first_at, last_at, mac, records)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
_DELETE_BLOCKS = "DELETE FROM audit_blocks WHERE first_seq <= ?"


class SqliteTransactions:
    """Runs transactions on an SQLite file, which the gateway has opened already.

    Args:
        file: Path of the file.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="audit-log")

    async def change(self, changing: Changing) -> None:
        """Lock the head, and write what `changing` returns for it, on the thread.

        Raises:
            Unavailable: The file can't be written, or another process has locked it for too long.
        """
        await asyncio.get_running_loop().run_in_executor(self._thread, self._change, changing)

    async def aclose(self) -> None:
        """Close the connection, after the last transaction."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    def _change(self, changing: Changing) -> None:
        try:
            connection = self._connection or self._open()
            connection.execute("BEGIN IMMEDIATE")
            self._write(connection, changing)
            connection.execute("COMMIT")
        except BaseException as error:
            self._close()  # which rolls back
            if isinstance(error, sqlite3.Error):
                raise Unavailable(
                    "the gateway's database can't be written; try again later", detail=str(error)
                ) from error
            raise

    def _write(self, connection: sqlite3.Connection, changing: Changing) -> None:
        row = connection.execute(SELECT_HEAD).fetchone()
        if row is None:
            connection.execute(_INSERT_HEAD)
            row = connection.execute(SELECT_HEAD).fetchone()
        change = changing(stored_head(row))
        if change is None:
            return
        if change.delete_through is not None:
            connection.execute(_DELETE_BLOCKS, (change.delete_through,))
        connection.execute(_INSERT_BLOCK, block_values(change.block))
        connection.execute(_UPDATE_HEAD, head_values(change))

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
