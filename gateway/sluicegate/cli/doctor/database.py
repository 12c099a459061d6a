"""Checks the database without changing it, and the signing key next to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.doctor.http import clock_finding
from sluicegate.cli.doctor.results import Check, Finding
from sluicegate.config import Settings
from sluicegate.database.async_engine import AsyncConnection
from sluicegate.database.connect import create_engine, reason
from sluicegate.database.migrate import HEAD, current_migration
from sluicegate.database.statements.clock import NOW
from sluicegate.database.urls import DatabaseUrl
from sluicegate.signing.load import load_keys, signing_key_path

_LEAST_FREE = 100_000_000
_FEW_FREE = 1_000_000_000


def database_checks(settings: Settings) -> Iterator[Check]:
    """The checks of the database, its disk and the signing key."""
    database = DatabaseUrl.parse(settings.database.get_secret_value())
    remedy = "check that the server runs, and that its address, user and password are correct"
    yield Check("database", "connection", partial(_connection, database), remedy)
    if database.dialect == "sqlite":
        yield Check("database", "disk", partial(_disk, Path(database.target).absolute().parent))
    yield Check("configuration", "signing key", partial(_signing_key, settings))


@asynccontextmanager
async def opened(database: DatabaseUrl) -> AsyncIterator[AsyncConnection]:
    """Connect to an existing database as it is, without migrating it."""
    engine = create_engine(database)
    try:
        async with engine.begin() as connection:
            yield connection
    except (SQLAlchemyError, OSError) as error:
        raise ConfigurationError(f"{database.shown} does not respond: {reason(error)}") from None
    finally:
        await engine.dispose()


async def _connection(database: DatabaseUrl) -> AsyncIterator[Finding]:
    if database.dialect == "sqlite" and not await anyio.Path(database.target).exists():
        yield Finding("skipped", f"{database.shown} does not exist yet; the first start creates it")
        return
    async with opened(database) as connection:
        migration = await connection.run_sync(current_migration)
        now: int = (await connection.execute(select(NOW))).scalar_one()
        difference = (now - epoch_ms()) / 1000
    yield _migration(database.shown, migration)
    if (clock := clock_finding("the database", difference)) is not None:
        yield clock


def _migration(shown: str, migration: str | None) -> Finding:
    if migration == HEAD:
        return Finding("ok", f"{shown} responds, with the newest schema ({HEAD})")
    if migration is None:
        return Finding("warning", f"{shown} is empty", "start the gateway once: it creates the schema")
    if migration < HEAD:
        return Finding(
            "warning",
            f"{shown} has the schema {migration}, older than {HEAD}",
            "back up the database; the next start of this version migrates it",
        )
    return Finding(
        "failed",
        f"{shown} has the schema {migration}, newer than {HEAD}",
        "upgrade sluicegate on this machine",
    )


async def _disk(folder: Path) -> AsyncIterator[Finding]:
    if not os.access(folder, os.W_OK):
        yield Finding("failed", f"{folder} is not writable", "run as the owner of the database")
        return
    free = (await anyio.to_thread.run_sync(shutil.disk_usage, folder)).free
    message = f"{free / 1e9:.1f} GB are free in {folder}"
    remedy = "free space: without any, requests that write to the database fail"
    if free < _LEAST_FREE:
        yield Finding("failed", message, remedy)
    elif free < _FEW_FREE:
        yield Finding("warning", message, remedy)
    else:
        yield Finding("ok", message)


async def _signing_key(settings: Settings) -> AsyncIterator[Finding]:
    if settings.signing_key is None and not await anyio.Path(signing_key_path(settings)).exists():
        yield Finding("skipped", "does not exist yet; the first start creates it")
        return
    keys = load_keys(settings)
    place = "configured" if settings.signing_key else f"readable in {signing_key_path(settings)}"
    yield Finding("ok", f"{place}; previous keys: {len(keys.keys) - 1}")
