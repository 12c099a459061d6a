"""Ends tasks of the event loop."""

from __future__ import annotations

import asyncio
from typing import Any


async def cancel_all(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and wait until they have ended, in any way."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
