"""A store on each kind of database, which it migrates itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.servers.databases import store
from support.servers.postgres import PostgresServer

__all__ = ["store"]


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/sluicegate.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()
