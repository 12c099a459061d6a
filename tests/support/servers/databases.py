"""Fixtures: a store on SQLite and on PostgreSQL. A conftest imports those that it gives its tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from support.servers.postgres import PostgresServer, running_postgres

from sluicegate.database import Store

__all__ = ["database_url", "postgres", "store"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for the tests of a folder."""
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/sluicegate.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    """An open, empty store on each kind of database."""
    opened = await Store.open(database_url)
    yield opened
    await opened.aclose()
