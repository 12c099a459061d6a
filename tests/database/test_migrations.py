"""Migrations on a real SQLite and a real PostgreSQL."""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
import sys
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from sluicegate.access.recipients.expiring import ExpiringCredentials
from sluicegate.api.errors import ConfigurationError
from sluicegate.api.models import Share, SharedCatalogSource
from sluicegate.database import Store, connect, locks, migrate
from sluicegate.database.admin_tables import admins
from sluicegate.database.reads import load_schemas, load_shares, load_tables, load_token
from sluicegate.database.task_tables import tasks

_START = """
import asyncio, sys
from sluicegate.access.recipients.expiring import ExpiringCredentials
from sluicegate.database import Store

async def main():
    store = await Store.open(sys.argv[1])
    print(await store.revision(), "alembic" in sys.modules)
    await store.aclose()

asyncio.run(main())
"""
_STORED_BEFORE = (
    "INSERT INTO recipients (id, key, name, allow_from, properties, created_at)"
    " VALUES ('1', 'acme', 'acme', '[]', '{}', 0)",
    "INSERT INTO tokens (id, recipient_id, digest, created_at, expires_at)"
    " VALUES ('2', '1', :digest, 0, 9)",
)


_MODULES = (admins, tasks)  # of tables that the gateway imports late; all have the same metadata


def _differences(connection: Connection) -> list[Any]:
    return list(compare_metadata(MigrationContext.configure(connection), _MODULES[0].metadata))


async def test_the_migrated_schema_is_the_one_that_the_tables_declare(store: Store) -> None:
    async with store.read() as connection:
        assert await connection.run_sync(_differences) == []


def test_head_names_the_newest_migration() -> None:
    folder = Path(migrate.__file__).parent / "migrations"
    assert ScriptDirectory(str(folder)).get_current_head() == migrate.HEAD


async def test_a_current_schema_is_opened_as_it_is(database_url: str) -> None:
    first = await Store.open(database_url)
    async with first.write():
        pass
    await first.aclose()
    second = await Store.open(database_url)
    assert await second.revision() == 1
    await second.aclose()


async def test_a_newer_schema_is_refused(database_url: str) -> None:
    store = await Store.open(database_url)
    async with store.write() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    await store.aclose()
    with pytest.raises(ConfigurationError, match=r"its schema \(9999\) is newer .* upgrade sluicegate"):
        await Store.open(database_url)


async def test_concurrent_starts_migrate_once(database_url: str) -> None:
    starts = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _START, database_url, stdout=asyncio.subprocess.PIPE
        )
        for _ in range(3)
    ]
    outputs = [(await start.communicate())[0] for start in starts]
    assert [output.split()[0] for output in outputs] == [b"0"] * 3


@pytest.mark.parametrize("journal_mode", ["DELETE", "WAL"])
async def test_a_start_waits_for_who_has_locked_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal_mode: str
) -> None:
    """A process that makes the file ready, and one that migrates it for longer than SQLite waits."""
    monkeypatch.setattr(connect, "_BUSY_TIMEOUT", 0)
    waits = asyncio.Event()
    monkeypatch.setattr(locks.log, "warning", lambda _: waits.set())
    with locked(tmp_path / "gateway.db", journal_mode) as other:
        start = asyncio.create_task(Store.open(f"sqlite:///{tmp_path}/gateway.db"))
        await waits.wait()
        assert not start.done()
        other.rollback()
        store = await start
    assert await store.revision() == 0
    await store.aclose()


async def test_a_file_that_stays_locked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_BUSY_TIMEOUT", 0)
    monkeypatch.setattr(locks, "_TIMEOUT", 0)
    for journal_mode in ("DELETE", "WAL"):
        path = tmp_path / f"{journal_mode}.db"
        with locked(path, journal_mode), pytest.raises(ConfigurationError, match="database is locked"):
            await Store.open(f"sqlite:///{path}")


@contextmanager
def locked(path: Path, journal_mode: str) -> Iterator[sqlite3.Connection]:
    """A new file that another connection writes to."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"PRAGMA journal_mode = {journal_mode}")
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE unfinished (id)")
        yield other


async def test_a_current_schema_is_opened_without_loading_alembic(database_url: str) -> None:
    await (await Store.open(database_url)).aclose()
    start = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _START, database_url, stdout=asyncio.subprocess.PIPE
    )
    assert (await start.communicate())[0] == b"0 False\n"


async def test_a_migration_that_fails_leaves_nothing_behind(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alembic import command

    real = command.upgrade

    def fails_at_its_end(*arguments: Any) -> None:
        real(*arguments)
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(command, "upgrade", fails_at_its_end)
        with pytest.raises(ConfigurationError, match="no space left"):
            await Store.open(database_url)
    store = await Store.open(database_url)
    assert await store.revision() == 0
    await store.aclose()


async def test_what_was_stored_before_there_were_oauth_clients_still_works(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await _opened_at("0001", database_url, monkeypatch)
    async with old.write() as connection:
        for statement in _STORED_BEFORE:
            await connection.execute(text(statement), {"digest": b"digest"})
    await old.aclose()
    new = await Store.open(database_url)
    async with new.read() as connection:
        token = await load_token(connection, b"digest")
    await new.aclose()
    assert token is not None
    assert (token.recipient.name, token.recipient.revoked_at, token.expires_at) == ("acme", None, 9)


async def test_a_share_of_the_previous_schema_has_no_catalog(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await _opened_at("0006", database_url, monkeypatch)
    async with old.write() as connection:
        for statement in (
            _STORED_BEFORE[0],
            "INSERT INTO shares (id, key, name, properties) VALUES ('3', 'sales', 'Sales', '{}')",
            "INSERT INTO grants (recipient_id, share_id) VALUES ('1', '3')",
        ):
            await connection.execute(text(statement))
    await old.aclose()
    new = await Store.open(database_url)
    async with new.read() as connection:
        assert await load_shares(connection, "1") == [Share("3", "Sales")]
    await new.aclose()


async def test_a_share_of_a_catalog_from_before_there_were_kinds_shares_its_tables(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await _opened_at("0008", database_url, monkeypatch)
    source = {"catalog": "main", "include": ["*"], "exclude": [], "alias": None}
    share = (
        "INSERT INTO shares (id, key, name, properties, source) VALUES ('3', 's', 'S', '{}', :source)"
    )
    async with old.write() as connection:
        await connection.execute(text(_STORED_BEFORE[0]))
        await connection.execute(text(share), {"source": json.dumps(source)})
        await connection.execute(text("INSERT INTO grants (recipient_id, share_id) VALUES ('1', '3')"))
    await old.aclose()
    new = await Store.open(database_url)
    async with new.read() as connection:
        [found] = await load_shares(connection, "1")
    await new.aclose()
    assert found.source == SharedCatalogSource("main")
    assert found.source.kinds == ("tables",)


async def test_a_credential_from_before_there_were_warnings_is_reported(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await _opened_at("0010", database_url, monkeypatch)
    token = (
        "INSERT INTO tokens (id, recipient_id, digest, created_at, expires_at) "
        "VALUES ('k', '1', :digest, 1, 5000)"
    )
    async with old.write() as connection:
        await connection.execute(text(_STORED_BEFORE[0]))
        await connection.execute(text(token), {"digest": b"d"})
    await old.aclose()
    new = await Store.open(database_url)
    credentials = ExpiringCredentials(new, 60, now=lambda: 2000)
    [found] = await credentials.claim(await credentials.find())
    await new.aclose()
    assert (found.id, found.kind, found.expires_at) == ("k", "bearer", 5000)


async def test_shares_from_before_there_were_tags_have_none(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await _opened_at("0010", database_url, monkeypatch)
    async with old.write() as connection:
        for statement in (
            "INSERT INTO shares (id, key, name, properties) VALUES ('3', 'sales', 'Sales', '{}')",
            "INSERT INTO schemas (id, share_id, key, name) VALUES ('4', '3', 'eu', 'eu')",
            "INSERT INTO shared_tables (id, schema_id, key, name, catalog, identifier, history,"
            " change_feed, start_version, access_modes) VALUES"
            " ('5', '4', 'orders', 'orders', 'lake', 'orders', false, false, 0, '[\"url\"]')",
        ):
            await connection.execute(text(statement))
    await old.aclose()
    new = await Store.open(database_url)
    async with new.read() as connection:
        [schema] = await load_schemas(connection, Share("3", "Sales"))
        [table] = await load_tables(connection, schema)
    await new.aclose()
    assert (schema.tags, table.tags) == ({}, {})


async def _opened_at(revision: str, url: str, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A database as an earlier version of the gateway made it."""
    from alembic import command

    upgrade = command.upgrade
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "HEAD", revision)
        patched.setattr(command, "upgrade", lambda config, _: upgrade(config, revision))
        return await Store.open(url)


async def test_a_closed_store_leaves_no_dialect(database_url: str) -> None:
    migrated = await Store.open(database_url)
    await migrated.aclose()
    store = await Store.open(database_url)
    async with store.read() as connection:
        await connection.execute(text("SELECT 1"))
        remaining = weakref.ref(connection.dialect)
    await store.aclose()
    del store, connection
    gc.collect()
    assert remaining() is None
