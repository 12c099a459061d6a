"""Waits for other processes that start on the same SQLite file. PostgreSQL itself waits for locks."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable

from sqlalchemy.exc import DBAPIError

log = logging.getLogger(__name__)

# Seconds: the longest wait for a migration in another process, and the pause between attempts # when
# SQLite fails immediately.
_TIMEOUT = 600.0
_PAUSE = 0.1


async def while_locked(step: Callable[[], Awaitable[None]]) -> None:
    """Run a startup step, and repeat it while another process has locked the database.

    SQLite waits for a lock only until its busy timeout, and doesn't wait if two processes set
    `journal_mode` of the same new file. A migration of large tables takes longer.

    Args:
        step: Must have no effect if it fails.
    """
    end, is_told = time.monotonic() + _TIMEOUT, False
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
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # the other bits are the extended code
