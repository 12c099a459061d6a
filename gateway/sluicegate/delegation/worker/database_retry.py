"""Retries while the database is unavailable, so that completed work isn't lost and repeated."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from sluicegate.api.errors import Unavailable

log = logging.getLogger(__name__)

T = TypeVar("T")
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 5.0


async def retry_until_available(ask: Callable[[], Awaitable[T]], what: str) -> T:
    """Return the database's response, however long it is unavailable."""
    pause = _FIRST_PAUSE
    while True:
        try:
            return await ask()
        except Unavailable as error:
            log.warning("%s waits for the database: %s", what, error.detail or error.message)
            await anyio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
