"""Transactions of the audit log on PostgreSQL, on a dedicated connection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sluicegate.api.errors import Unavailable
from sluicegate.audit.sinks.database.transactions import (
    INSERT_HEAD,
    SELECT_HEAD,
    Changing,
    block_values,
    head_values,
    stored_head,
)
from sluicegate.database.connect import connect_postgresql
from sluicegate.database.urls import DatabaseUrl

if TYPE_CHECKING:
    from asyncpg import Connection

# Seconds of a transaction, including those of connecting, and of waiting for other writers.
_TIMEOUT = 5.0
_INSERT_HEAD = INSERT_HEAD.format(mac="decode(repeat('00', 32), 'hex')", seal="''")
_LOCK = f"{SELECT_HEAD} FOR UPDATE"
# One statement, so that one round trip suffices.
_WRITE = (
    "WITH moved AS (UPDATE audit_head SET seq = $1, mac = $2, checkpoint_seq = $3,"
    " checkpoint_mac = $4, seal = $5 WHERE id = 1 RETURNING id)"
    " INSERT INTO audit_blocks (first_seq, count, first_at, last_at, mac, records)"
    " SELECT $6::bigint, $7::integer, $8::bigint, $9::bigint, $10::bytea, $11::bytea FROM moved"
)
_DELETE_BLOCKS = "DELETE FROM audit_blocks WHERE first_seq <= $1"


class PostgresqlTransactions:
    """Runs transactions on a database that the gateway has opened already.

    Args:
        database: The URL.
        timeout: Seconds that a transaction can take.
    """

    def __init__(self, database: DatabaseUrl, *, timeout: float | None = None) -> None:
        self._database = database
        self._timeout = _TIMEOUT if timeout is None else timeout
        self._connection: Connection | None = None

    async def change(self, changing: Changing) -> None:
        """Lock the head, and write what `changing` returns for it.

        Raises:
            Unavailable: The database does not respond in time, or refuses.
        """
        from asyncpg import InterfaceError, PostgresError

        try:
            async with asyncio.timeout(self._timeout):
                await self._change(changing)
        except BaseException as error:
            self._terminate()
            if isinstance(error, PostgresError | InterfaceError | OSError):
                raise Unavailable(
                    "the gateway's database does not respond; try again later",
                    detail=str(error) or f"no response within {self._timeout:g} seconds",
                ) from error
            raise

    async def aclose(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.close(timeout=self._timeout)
            except Exception:
                connection.terminate()

    async def _change(self, changing: Changing) -> None:
        connection = self._connection
        if connection is None or connection.is_closed():
            connection = self._connection = await connect_postgresql(self._database)
            # A role or database can have another default, with which a crash loses transactions.
            await connection.execute("SET synchronous_commit = on")
        async with connection.transaction():
            row = await connection.fetchrow(_LOCK)
            if row is None:
                await connection.execute(_INSERT_HEAD)
                row = await connection.fetchrow(_LOCK)
            change = changing(stored_head(tuple(row)))
            if change is None:
                return
            if change.delete_through is not None:
                await connection.execute(_DELETE_BLOCKS, change.delete_through)
            await connection.execute(_WRITE, *head_values(change), *block_values(change.block))

    def _terminate(self) -> None:
        """Give the connection up: after a timeout, it may still run the statement."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
