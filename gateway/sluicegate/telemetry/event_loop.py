"""Measures how late the event loop runs what is due: it is late if code blocks it."""

from __future__ import annotations

import asyncio

from sluicegate.telemetry import metrics

_INTERVAL = 0.5


async def measure_event_loop() -> None:
    """Record the delay twice a second, until canceled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + _INTERVAL
        await asyncio.sleep(_INTERVAL)
        instruments = metrics.instruments()
        if instruments is not None:
            instruments.loop_delay.record(max(0.0, loop.time() - due))
