"""Waits for a database that does not answer: what a worker has done shall not be done again."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from sluicegate.errors import Unavailable

log = logging.getLogger(__name__)

T = TypeVar("T")
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 5.0


async def patiently(ask: Callable[[], Awaitable[T]], what: str) -> T:
    """What the database answers, however long it is away.

    Args:
        ask: Safe to call again: it may have been stored although no answer came.
        what: What waits, for the log.
    """
    pause = _FIRST_PAUSE
    while True:
        try:
            return await ask()
        except Unavailable as error:
            log.warning("%s waits for the database: %s", what, error.detail or error.message)
            await anyio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
