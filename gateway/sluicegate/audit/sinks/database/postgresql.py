"""Transactions of the audit log on PostgreSQL, on a dedicated connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

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
from sluicegate.database.connect import connect_postgresql
from sluicegate.database.urls import DatabaseUrl

if TYPE_CHECKING:
    from asyncpg import Connection

# Seconds of a transaction, including those of connecting, and of waiting for other writers.
_TIMEOUT = 5.0
_OF_TIMEOUT = 0.9
_T = TypeVar("_T")


class PostgresqlTransactions:
    """Runs transactions on a database that the gateway has opened already."""

    def __init__(self, database: DatabaseUrl, *, timeout: float | None = None) -> None:
        self._database = database
        self._timeout = _TIMEOUT if timeout is None else timeout
        self._connection: Connection | None = None

    async def claim(self, choosing: Choosing) -> StoredHead:
        """Take the chain that `choosing` returns, and return its end."""
        return await self._run(lambda connection: _claim(connection, choosing))

    async def append(self, chain: int, owner: str, last: int, change: ChainChange) -> bool:
        """Write a block, if the chain belongs to the writer and ends with this line."""
        moved = moved_values(chain, owner, last, change)
        block = block_values(change.block)

        async def insert(connection: Connection) -> bool:
            status: str = await connection.execute(sql.APPEND, *moved, *block)
            return status == "INSERT 0 1"

        return await self._run(insert)

    async def change(self, chain: int, changing: Changing) -> None:
        """Lock the head of a chain, and write what `changing` returns for it."""
        await self._run(lambda connection: _change(connection, chain, changing))

    async def release(self, owner: str) -> None:
        """Let others take the chain of a writer."""
        await self._run(lambda connection: connection.execute(sql.RELEASE, owner))

    async def aclose(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.close(timeout=self._timeout)
            except Exception:
                connection.terminate()

    async def _run(self, work: Callable[[Connection], Awaitable[_T]]) -> _T:
        """Run work on the connection, within the time."""
        from asyncpg import InterfaceError, PostgresError, QueryCanceledError

        try:
            async with asyncio.timeout(self._timeout):
                return await work(await self._connected())
        except BaseException as error:
            self._terminate()
            if isinstance(error, PostgresError | InterfaceError | OSError):
                has_reason = str(error) and not isinstance(error, QueryCanceledError)
                raise Unavailable(
                    "the gateway's database does not respond; try again later",
                    detail=str(error)
                    if has_reason
                    else f"no response within {self._timeout:g} seconds",
                ) from error
            raise

    async def _connected(self) -> Connection:
        connection = self._connection
        if connection is None or connection.is_closed():
            connection = self._connection = await connect_postgresql(self._database)
            # A role or database can have another default, with which a crash loses transactions.
            await connection.execute("SET synchronous_commit = on")
            # The server then gives up before this process does, so that no refused record is stored.
            await connection.execute(
                f"SET statement_timeout = {int(_OF_TIMEOUT * self._timeout * 1000)}"
            )
        return connection

    def _terminate(self) -> None:
        """Give the connection up: after a timeout, it may still run the statement."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()


async def _claim(connection: Connection, choosing: Choosing) -> StoredHead:
    async with connection.transaction():
        await connection.execute(sql.LOCK_REGISTER)
        rows = await connection.fetch(sql.SELECT_CHAINS)
        claim = choosing([chain_row(tuple(row)) for row in rows])
        for row in created(claim):
            await connection.execute(sql.CREATE_CHAIN, *row)
        if claim.seal is None:
            await connection.execute(sql.TAKE_CHAIN, claim.chain, claim.owner, claim.at)
        locked = LockedChain(claim.chain)
        found = await connection.fetchrow(locked.sql.select_head, locked.key)
        return stored_head(found and tuple(found))


async def _change(connection: Connection, chain: int, changing: Changing) -> None:
    locked = LockedChain(chain)
    select = f"{locked.sql.select_head} FOR UPDATE"
    async with connection.transaction():
        row = await connection.fetchrow(select, locked.key)
        if row is None:
            await connection.execute(locked.sql.insert_head, locked.key, START.mac, b"")
            row = await connection.fetchrow(select, locked.key)
        change = changing(stored_head(tuple(row)))
        if change is None:
            return
        if change.delete_through is not None:
            deleted = locked.deleted(change.delete_through)
            await connection.execute(locked.sql.delete_blocks, *deleted)
        block = locked.block_values(change.block)
        await connection.execute(locked.sql.insert_block, *block)
        await connection.execute(locked.sql.update_head, *head_values(locked.key, change))
