"""Reads the shares that the database contains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store

if TYPE_CHECKING:
    from sluicegate.access.shares_file.export import StoredShares
    from sluicegate.config import Settings


def stored_shares(ctx: click.Context) -> StoredShares:
    """The shares and recipients in the configured database.

    Raises:
        ConfigurationError: The configuration is invalid, or the database cannot be read.
    """
    return run_async(_read(load_settings(ctx)))


async def _read(settings: Settings) -> StoredShares:
    from sluicegate.access.shares_file.entries import stored_entries
    from sluicegate.access.shares_file.export import StoredShares

    async with open_store(settings) as store, store.read() as connection:
        return StoredShares(await stored_entries(connection))
