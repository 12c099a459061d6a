"""The store: an open database, and transactions on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from sqlalchemy import select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from sluicegate.errors import ConfigurationError, Unavailable
from sluicegate.store.connect import create_engine, read_beside_writes, reason
from sluicegate.store.locks import while_locked
from sluicegate.store.loop_timeout import loop_timeout
from sluicegate.store.migrate import ensure_schema
from sluicegate.store.private_files import keep_private
from sluicegate.store.refusals import StatementRefused, is_refusal
from sluicegate.store.tables import revision
from sluicegate.store.urls import DatabaseUrl

_READ_TIMEOUT = 10.0


class Store:
    """The gateway's database: `await Store.open(url)`, then transactions, then `await aclose()`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(writes=True)
        self._reader = engine
        if engine.dialect.name == "postgresql":
            self._reader = engine.execution_options(isolation_level="REPEATABLE READ")

    @classmethod
    async def open(cls, url: str) -> Store:
        """Open a database and bring its schema up to date.

        Args:
            url: `sqlite:///FILE` or `postgresql://…`.

        Raises:
            ConfigurationError: The database cannot be reached, its driver is missing, or its schema
                is newer than this version of the gateway. The message holds no password.
        """
        database = DatabaseUrl.parse(url)
        if database.dialect == "sqlite":
            keep_private(database.target)
        store = cls(create_engine(database))
        try:
            await while_locked(store._make_ready)
        except (ConfigurationError, SQLAlchemyError, OSError) as error:
            await store.aclose()
            why = error.message if isinstance(error, ConfigurationError) else reason(error)
            raise ConfigurationError(f"the database {database.shown} cannot be used: {why}") from None
        return store

    async def _make_ready(self) -> None:
        await read_beside_writes(self._engine)
        await ensure_schema(self._reader, self._writer)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._engine.dispose()

    @asynccontextmanager
    async def read(self, *, timeout: float = _READ_TIMEOUT) -> AsyncIterator[AsyncConnection]:
        """A transaction that sees one consistent state of the database.

        Args:
            timeout: Seconds until the block is given up.

        Raises:
            Unavailable: The database does not answer.
            StatementRefused: It refuses a value.
        """
        with _translated():
            async with (
                self._to_its_end(),
                loop_timeout(timeout),
                self._reader.begin() as connection,
            ):
                yield connection

    async def ping(self) -> None:
        """Make sure that the database answers.

        Raises:
            Unavailable: It does not.
        """
        await self.revision()

    async def revision(self, *, timeout: float = _READ_TIMEOUT) -> int:
        """The number that changes with every committed write.

        Raises:
            Unavailable: The database does not answer.
        """
        async with self.read(timeout=timeout) as connection:
            return await read_revision(connection)

    @asynccontextmanager
    async def append(self) -> AsyncIterator[AsyncConnection]:
        """A writing transaction for records that no cached read depends on: the revision stays.

        Raises:
            Unavailable: The database does not answer.
            StatementRefused: It refuses a value.
        """
        with _translated():
            async with self._to_its_end(), self._writer.begin() as connection:
                yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that no other writer runs beside; rolled back when its block raises.

        A block that finds nothing to write says so by `await connection.rollback()`.

        Raises:
            Unavailable: The database does not answer.
        """
        async with self.append() as connection:
            # Bumping first takes the row's lock: writers queue here, and see each other's work.
            await connection.execute(update(revision).values(value=revision.c.value + 1))
            yield connection

    @asynccontextmanager
    async def _to_its_end(self) -> AsyncIterator[None]:
        """Lets transactions on a file end before a cancelled scope does, which takes no long time.

        A scope cancels again and again, and the second time SQLite's driver leaves a task that never
        ends, nor lets the event loop end. A network may take for ever: there it may be interrupted.
        """
        await checkpoint_if_cancelled()
        with anyio.CancelScope(shield=self._engine.dialect.name == "sqlite"):
            yield


async def read_revision(connection: AsyncConnection) -> int:
    """The revision that a transaction sees."""
    value: int = (await connection.execute(select(revision.c.value))).scalar_one()
    return value


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        if is_refusal(error):
            raise StatementRefused(
                "the gateway's database refuses a value", detail=reason(error)
            ) from error
        raise Unavailable(
            "the gateway's database does not answer; try again later", detail=reason(error)
        ) from error
