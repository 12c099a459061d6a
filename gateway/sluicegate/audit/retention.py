"""Regularly deletes old records, and seals the ends of chains."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import Unavailable
from sluicegate.audit.sinks.sink import Sink

log = logging.getLogger(__name__)

SEALING_SECONDS = 60.0
"""Time between two records of the ends of other chains."""

# Seconds between deletions.
_PAUSE = 3600.0


async def delete_old_records(
    sinks: Sequence[Sink], retention: int, *, now: Callable[[], int] = epoch_ms
) -> None:
    """Delete records when they are older than `retention` seconds, until this is cancelled."""
    while True:
        for sink in sinks:
            try:
                await sink.delete_before(now() - retention * 1000)
            except Unavailable as error:
                log.warning(
                    "old records of the audit log can't be deleted (%s): %s",
                    sink.name,
                    error.for_operators,
                )
        await asyncio.sleep(_PAUSE)


async def seal_ends(sinks: Sequence[Sink], *, pause: float = SEALING_SECONDS) -> None:
    """Record regularly where other chains end, until this is cancelled."""
    while True:
        await asyncio.sleep(pause)
        for sink in sinks:
            try:
                await sink.seal_others()
            except Unavailable as error:
                log.warning(
                    "the ends of chains can't be sealed (%s): %s", sink.name, error.for_operators
                )
