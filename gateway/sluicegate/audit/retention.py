"""Regularly deletes old records, seals the ends of chains, and indexes records."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import Unavailable
from sluicegate.audit.sinks.sink import Sink

log = logging.getLogger(__name__)

SEALING_SECONDS = 60.0
"""Time between two records of the ends of other chains."""

# Seconds between looks for records without an index.
_INDEXING_PAUSE = 20.0
# Shortest pause between ranges, and pause for each second of work, so that requests don't wait.
_INDEXING_BREAK = 0.05
_INDEXING_REST = 2.0
# Seconds between deletions.
_PAUSE = 3600.0


async def delete_old_records(
    sinks: Sequence[Sink], retention: int, *, now: Callable[[], int] = epoch_ms
) -> None:
    """Delete records when they are older than `retention` seconds, until this is cancelled."""
    while True:
        await _at_each(
            sinks,
            lambda sink: sink.delete_before(now() - retention * 1000),
            "old records of the audit log can't be deleted",
        )
        await asyncio.sleep(_PAUSE)


async def seal_ends(sinks: Sequence[Sink], *, pause: float = SEALING_SECONDS) -> None:
    """Record regularly where other chains end, until this is cancelled."""
    while True:
        await asyncio.sleep(pause)
        await _at_each(sinks, lambda sink: sink.seal_others(), "the ends of chains can't be sealed")


async def index_records(sinks: Sequence[Sink], *, pause: float = _INDEXING_PAUSE) -> None:
    """Index records regularly, until this is cancelled."""
    while True:
        await asyncio.sleep(pause)
        await _at_each(sinks, _index_all, "the audit log can't be indexed")


async def _at_each(
    sinks: Sequence[Sink], work: Callable[[Sink], Awaitable[None]], problem: str
) -> None:
    """Do something with each sink, and log the problem if one is not available."""
    for sink in sinks:
        try:
            await work(sink)
        except Unavailable as error:
            log.warning("%s (%s): %s", problem, sink.name, error.for_operators)


async def _index_all(sink: Sink) -> None:
    started = time.monotonic()
    while await sink.index_records():
        taken = time.monotonic() - started
        await asyncio.sleep(max(_INDEXING_BREAK, _INDEXING_REST * taken))
        started = time.monotonic()
