"""Opens the configured database for commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sluicegate.api.errors import ConfigurationError, Unavailable

if TYPE_CHECKING:
    from sluicegate.config import Settings
    from sluicegate.database import Store


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """Open the configured database. Errors contain the details that recipients never see.

    Raises:
        ConfigurationError: The database cannot be opened, or fails during use.
    """
    from sluicegate.database import Store

    store = await Store.open(settings.database.get_secret_value())
    try:
        yield store
    except Unavailable as error:
        raise ConfigurationError(f"the database failed: {error.detail or error.message}") from error
    finally:
        await store.aclose()
