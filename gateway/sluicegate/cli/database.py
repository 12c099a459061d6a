"""The database, for commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sluicegate.errors import ConfigurationError, Unavailable

if TYPE_CHECKING:
    from sluicegate.config import Settings
    from sluicegate.store import Store


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """The configured database; operators are told the reasons that recipients are not.

    Raises:
        ConfigurationError: It cannot be opened, or fails while it is used.
    """
    from sluicegate.store import Store

    store = await Store.open(settings.database.get_secret_value())
    try:
        yield store
    except Unavailable as error:
        raise ConfigurationError(f"the database failed: {error.detail or error.message}") from error
    finally:
        await store.aclose()
