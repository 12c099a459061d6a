"""Migrations on a real SQLite and a real PostgreSQL."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from sluicegate.errors import ConfigurationError
from sluicegate.store import Store, migrate
from sluicegate.store.reads import load_token
from sluicegate.store.tables import metadata

_START = """
import asyncio, sys
from sluicegate.store import Store

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


def _differences(connection: Connection) -> list[Any]:
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


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
        for _ in range(4)
    ]
    outputs = [(await start.communicate())[0] for start in starts]
    assert [output.split()[0] for output in outputs] == [b"0"] * 4


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
    from alembic import command

    upgrade = command.upgrade
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "HEAD", "0001")
        patched.setattr(command, "upgrade", lambda config, _: upgrade(config, "0001"))
        old = await Store.open(database_url)
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
