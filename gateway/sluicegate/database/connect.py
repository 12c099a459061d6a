"""SQLAlchemy engines with settings that give both databases the same transaction semantics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError

from sluicegate.database.async_engine import AsyncEngine, create_async_engine
from sluicegate.database.urls import DatabaseUrl
from sluicegate.telemetry.metrics import count_connection, instruments

if TYPE_CHECKING:
    from asyncpg import Connection as AsyncpgConnection

# Seconds that a write waits for the lock of another process, and that connecting may take.
_BUSY_TIMEOUT = 10
_CONNECT_TIMEOUT = 5
_POOL: dict[str, Any] = {"pool_size": 2, "max_overflow": 6, "pool_timeout": _BUSY_TIMEOUT}


def create_engine(database: DatabaseUrl) -> AsyncEngine:
    """Return an engine that isn't connected yet. Its errors never contain statement parameters."""
    engine = _sqlite(database) if database.dialect == "sqlite" else _postgresql(database)
    if instruments() is not None:
        _count_connections(engine)
    return engine


def _count_connections(engine: AsyncEngine) -> None:
    """Count idle and used connections. One that is closed counts as idle before."""

    def move(idle: int, used: int) -> Callable[..., None]:
        def listener(*_: object) -> None:
            count_connection("idle", idle)
            count_connection("used", used)

        return listener

    for name, idle, used in (
        ("connect", 1, 0),
        ("checkout", -1, 1),
        ("checkin", 1, -1),
        ("close", -1, 0),
    ):
        event.listen(engine.sync_engine, name, move(idle, used))


async def read_beside_writes(engine: AsyncEngine) -> None:
    """Switch an SQLite file to WAL mode, which lets reads continue during writes and is persistent."""
    if engine.dialect.name == "sqlite":
        async with engine.execution_options(begins=False).connect() as connection:
            await connection.exec_driver_sql("PRAGMA journal_mode = WAL")  # in no transaction


def reason(error: BaseException) -> str:
    """Return the driver's message without the statement, its parameters, and the URL."""
    if isinstance(error, DBAPIError):
        return str(error.orig)
    if isinstance(error, OSError) and str(error):
        return error.strerror or str(error)
    return type(error).__name__


def _sqlite(database: DatabaseUrl) -> AsyncEngine:
    engine = create_async_engine(
        f"sqlite+aiosqlite:///{database.target}",
        # The `BEGIN` statement below starts transactions, instead of the driver's implicit one.
        connect_args={"isolation_level": None, "timeout": _BUSY_TIMEOUT},
        hide_parameters=True,
        **_POOL,
    )
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    for pragma in (f"busy_timeout = {_BUSY_TIMEOUT * 1000}", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("begins", True):
        # A deferred transaction takes its lock at the first write statement, and can then fail because
        # another transaction has written in the meantime.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")


async def connect_postgresql(database: DatabaseUrl) -> AsyncpgConnection:
    """Connect to PostgreSQL without SQLAlchemy."""
    import asyncpg

    try:
        # The driver parses the URL itself, so all parameters of libpq (sslmode, …) are supported.
        return await asyncpg.connect(database.target, timeout=_CONNECT_TIMEOUT)
    except asyncpg.PostgresError as error:
        raise ConnectionError(str(error)) from None
    except (asyncpg.InterfaceError, ValueError):
        # The driver's message may repeat the URL, which can contain the password.
        raise ConnectionError("its URL is malformed") from None


def _postgresql(database: DatabaseUrl) -> AsyncEngine:
    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=partial(connect_postgresql, database),
        hide_parameters=True,
        pool_pre_ping=True,
        **_POOL,
    )
