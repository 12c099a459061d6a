"""Waits for other processes that start on the same SQLite file; PostgreSQL waits by itself."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable

from sqlalchemy.exc import DBAPIError

log = logging.getLogger(__name__)

# Seconds: how long another process may migrate, and the pause where SQLite gives up at once.
_PATIENCE = 600.0
_PAUSE = 0.1


async def while_locked(step: Callable[[], Awaitable[None]]) -> None:
    """Take a step of a start, again and again while another process has locked the database.

    SQLite waits for a lock no longer than its busy timeout, and not at all where two processes make the
    same new file ready (`journal_mode`); a migration of large tables takes longer.

    Args:
        step: Leaves nothing behind where it fails.
    """
    end, is_told = time.monotonic() + _PATIENCE, False
    while True:
        try:
            return await step()
        except DBAPIError as error:
            if not _is_locked(error.orig) or time.monotonic() >= end:
                raise
            if not is_told:
                log.warning("the database is locked: waiting for another process, which may migrate it")
            is_told = True
        await asyncio.sleep(_PAUSE)


def _is_locked(error: BaseException | None) -> bool:
    if not isinstance(error, sqlite3.OperationalError):
        return False
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # the other bits tell cases of it apart
