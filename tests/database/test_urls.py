"""Database URLs: what is refused at start, and that no message holds a password."""

from __future__ import annotations

import importlib.util
import socket
from pathlib import Path

import pytest
from support.servers.postgres import PostgresServer

from sluicegate.api.errors import ConfigurationError
from sluicegate.database import Store
from sluicegate.database.urls import DatabaseUrl

PASSWORD = "s3cr3t"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"mysql://u:{PASSWORD}@h/x", "unknown scheme 'mysql'"),
        (PASSWORD, "unknown scheme ''"),
        ("sqlite://", "unknown scheme 'sqlite'"),
        ("sqlite:///", "must name a file"),
        ("sqlite:///:memory:", "must name a file"),
        ("sqlite:////no/such/folder/x.db", "directory of the database .* does not exist"),
        (f"postgresql://u:{PASSWORD}/@h/x", r"postgresql://… cannot be used: its URL is malformed"),
        (f"postgresql://u:{PASSWORD}@h:port/x", r"postgresql://… cannot be used"),
    ],
)
async def test_bad_urls_are_refused(url: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as raised:
        await Store.open(url)
    assert PASSWORD not in raised.value.message


async def test_an_unreachable_server_is_named_without_its_password() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(ConfigurationError) as raised:
            await Store.open(f"postgresql://user:{PASSWORD}@127.0.0.1:{port}/lake")
    assert f"the database postgresql://127.0.0.1:{port}/lake cannot be used" in raised.value.message
    assert PASSWORD not in raised.value.message


async def test_a_missing_database_is_reported_by_its_server(postgres: PostgresServer) -> None:
    url = postgres.new_database().replace("/test_", "/absent_")
    with pytest.raises(ConfigurationError, match=r'database "absent_.*" does not exist'):
        await Store.open(url)


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is a text and no database" * 100)
    with pytest.raises(ConfigurationError, match="file is not a database"):
        await Store.open(f"sqlite:///{tmp_path}/x.db")


def test_a_missing_driver_is_refused_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluicegate.database.urls.find_spec", lambda _: None)
    assert importlib.util.find_spec("asyncpg") is not None
    with pytest.raises(ConfigurationError, match=r"pip install 'sluicegate\[postgresql\]'"):
        DatabaseUrl.parse("postgresql://h/x")
