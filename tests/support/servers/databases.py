"""Fixtures: a store on SQLite and on PostgreSQL. A conftest imports those that it gives its tests.

`postgres` is imported by `tests/conftest.py` alone: a fixture that each folder imports is another
server for each folder.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from support.servers.migrated import new_sqlite
from support.servers.postgres import PostgresServer, running_postgres

from sluicegate.database import Store

__all__ = ["database_url", "postgres", "store"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of a worker."""
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of each kind with the current schema and no rows."""
    if request.param == "sqlite":
        yield new_sqlite(tmp_path / "sluicegate.db")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_migrated_database()
    yield url
    server.give_back(url)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    """An open, empty store on each kind of database."""
    opened = await Store.open(database_url)
    yield opened
    await opened.aclose()
