"""Other users of the machine cannot open an SQLite database's files."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluicegate.database import Store


@pytest.fixture(autouse=True)
def _careless_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def _modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.glob("sluicegate.db*")}


PRIVATE = dict.fromkeys(("sluicegate.db", "sluicegate.db-wal", "sluicegate.db-shm"), "0o600")


async def test_a_new_database_and_what_stands_next_to_it_are_private(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await Store.open(f"sqlite:///{tmp_path}/sluicegate.db")
    async with store.write():
        pass
    assert _modes(tmp_path) == PRIVATE
    await store.aclose()
    assert _modes(tmp_path) == {"sluicegate.db": "0o600"}
    assert not caplog.records


async def test_a_database_that_others_could_open_is_mended_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "sluicegate.db"
    open_elsewhere = sqlite3.connect(file)
    open_elsewhere.execute("PRAGMA journal_mode = WAL")
    open_elsewhere.execute("CREATE TABLE other (id)")
    file.chmod(0o666)
    store = await Store.open(f"sqlite:///{file}")
    async with store.write():
        pass
    assert _modes(tmp_path) == PRIVATE
    warnings = [record.getMessage() for record in caplog.records]
    assert f"{file} (mode" in warnings[0]
    assert "changed to 0600" in warnings[0]
    await store.aclose()
    open_elsewhere.close()


async def test_a_second_opening_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/sluicegate.db"
    first = await Store.open(url)
    async with first.write():
        second = await Store.open(url)
        with (
            sqlite3.connect(tmp_path / "sluicegate.db", timeout=0) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            other.execute("BEGIN IMMEDIATE")
        other.close()
    await second.aclose()
    await first.aclose()
