"""A store on each kind of database, a clock, and a way to apply what a test declares."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from support.process.clock import Clock
from support.servers.databases import database_url, store

from sluicegate.access.recipients.service import Recipients
from sluicegate.access.shares_file.apply import apply_shares_file
from sluicegate.access.shares_file.diff import Difference, render
from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.database import Store

__all__ = ["database_url", "store"]

Apply = Callable[..., Awaitable[list[str]]]


@pytest.fixture
def clock() -> Clock:
    """Epoch milliseconds."""
    return Clock()


@pytest.fixture
def recipients(store: Store, clock: Clock) -> Recipients:
    """The service, with tokens of 100 seconds and a grace of 10."""
    return Recipients(store, token_lifetime=100, rotation_grace=10, now=clock)


@pytest.fixture
def apply(store: Store, tmp_path: Path) -> Apply:
    """Apply a shares file given as text; the lines that people would read."""

    async def apply_text(text: str, *, prune: bool = False, dry_run: bool = False) -> list[str]:
        path = tmp_path / "shares.yaml"
        path.write_text(text)
        file = read_shares_file(path, {"raw", "main"})
        difference: Difference = await apply_shares_file(store, file, prune=prune, dry_run=dry_run)
        return list(render(difference))

    return apply_text
