"""Opens the database and provides transactions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from sqlalchemy.exc import SQLAlchemyError

from sluicegate.api.errors import ConfigurationError, Unavailable
from sluicegate.api.gateway.plugin_data import Migration
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.connect import create_engine, read_beside_writes, reason
from sluicegate.database.locks import while_locked
from sluicegate.database.loop_timeout import loop_timeout
from sluicegate.database.migrate import ensure_schema, migrate_plugins
from sluicegate.database.private_files import create_private, keep_private
from sluicegate.database.refusals import StatementRefused, is_refusal
from sluicegate.database.statements.revisions import (
    RevisionKind,
    Revisions,
    begin_write,
    read_revision,
    read_revisions,
)
from sluicegate.database.urls import DatabaseUrl
from sluicegate.telemetry import inner_span

_READ_TIMEOUT = 10.0


class DatabaseUnavailable(Unavailable):
    """The database does not respond."""


class Store:
    """The gateway's database: `await Store.open(url)`, then transactions, then `await aclose()`.

    Args:
        database: Where it is. Its schema must be up to date, as it is after `open`.
    """

    def __init__(self, database: DatabaseUrl) -> None:
        engine = create_engine(database)
        self.database = database
        self.writes = 0
        self._engine = engine
        self._writer = engine.execution_options(writes=True)
        self._reader = engine
        if engine.dialect.name == "postgresql":
            self._reader = engine.execution_options(isolation_level="REPEATABLE READ")

    @classmethod
    async def open(cls, url: str) -> Store:
        """Open a database and bring its schema up to date."""
        database = DatabaseUrl.parse(url)
        if database.dialect == "sqlite":
            create_private(database.target)
        store = cls(database)
        try:
            await while_locked(store._make_ready)
        except (ConfigurationError, SQLAlchemyError, OSError) as error:
            await store.aclose()
            why = error.message if isinstance(error, ConfigurationError) else reason(error)
            raise ConfigurationError(f"the database {database.shown} cannot be used: {why}") from None
        if database.dialect == "sqlite":
            keep_private(database.target)
        return store

    async def _make_ready(self) -> None:
        await read_beside_writes(self._engine)
        await ensure_schema(self._reader, self._writer)

    async def migrate_plugins(self, migrations: Mapping[str, Sequence[Migration]]) -> None:
        """Make the pending migrations of plugins, by the plugins' names."""
        if not migrations:
            return
        try:
            await while_locked(partial(migrate_plugins, self._reader, self._writer, migrations))
        except (SQLAlchemyError, OSError) as error:
            raise ConfigurationError(
                f"the database {self.database.shown} cannot be used: {reason(error)}"
            ) from None

    async def aclose(self) -> None:
        """Close every connection."""
        await self._engine.dispose()

    @asynccontextmanager
    async def read(self, *, timeout: float = _READ_TIMEOUT) -> AsyncIterator[AsyncConnection]:
        """Start a read-only transaction that sees one consistent state of the database."""
        with inner_span("db.read"), _translated():
            async with (
                self._to_its_end(),
                loop_timeout(timeout),
                self._reader.begin() as connection,
            ):
                yield connection

    async def ping(self) -> None:
        """Check that the database responds."""
        await self.revision()

    async def revision(self, *, timeout: float = _READ_TIMEOUT) -> int:
        """Return the revision number, which changes with every committed write."""
        async with self.read(timeout=timeout) as connection:
            return await read_revision(connection)

    async def revisions(self, *, timeout: float = _READ_TIMEOUT) -> Revisions:
        """Return the revisions of all kinds of rows that cached reads depend on."""
        async with self.read(timeout=timeout) as connection:
            return await read_revisions(connection)

    @asynccontextmanager
    async def append(self) -> AsyncIterator[AsyncConnection]:
        """Start a write transaction that leaves the revision unchanged.

        Use it only for records that no cached read depends on.
        """
        with inner_span("db.write"), _translated():
            async with self._to_its_end(), self._writer.begin() as connection:
                yield connection

    @asynccontextmanager
    async def write(
        self, kinds: Collection[RevisionKind] | None = None
    ) -> AsyncIterator[AsyncConnection]:
        """Start a write transaction that excludes other writers, and rolls back if its block raises.

        A block that finds nothing to write calls `await connection.rollback()`.
        """
        try:
            async with self.append() as connection:
                # The update locks the row first: writers queue here and see each other's changes.
                await begin_write(connection, kinds)
                yield connection
        finally:
            self.writes += 1  # also after an error, which does not always mean that nothing was written

    @asynccontextmanager
    async def _to_its_end(self) -> AsyncIterator[None]:
        """Shields transactions on SQLite from cancellation, so that they complete first.

        An anyio scope cancels repeatedly. At the second cancellation, SQLite's driver leaves a task
        that never ends and blocks the end of the event loop. Transactions on a file are short. Those on
        a network database aren't shielded, because they can take forever.
        """
        await checkpoint_if_cancelled()
        with anyio.CancelScope(shield=self._engine.dialect.name == "sqlite"):
            yield


class PluginConnections:
    """The `api.PluginDatabase` of a store. No cached read depends on the tables of plugins."""

    def __init__(self, store: Store) -> None:
        self.read = store.read
        self.write = store.append


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        if is_refusal(error):
            raise StatementRefused(
                "the gateway's database refuses a value", detail=reason(error)
            ) from error
        raise DatabaseUnavailable(
            "the gateway's database does not respond; try again later", detail=reason(error)
        ) from error
