"""SQLite databases whose schema is current: copied, because Alembic needs half a second for each."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sluicegate.database import Store


def new_sqlite(file: Path) -> str:
    """Create an SQLite database with the current schema and no rows, and return its URL."""
    content = _current()
    file.touch(0o600, exist_ok=False)
    file.write_bytes(content)
    return f"sqlite:///{file}"


def migrate(url: str) -> None:
    """Run all migrations on a database, also in a thread that already runs an event loop."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, _migrate(url)).result()


@cache
def _current() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "current.db"
        migrate(f"sqlite:///{file}")
        assert list(Path(folder).iterdir()) == [file], "SQLite has not closed its write-ahead log"
        return file.read_bytes()


async def _migrate(url: str) -> None:
    await (await Store.open(url)).aclose()
