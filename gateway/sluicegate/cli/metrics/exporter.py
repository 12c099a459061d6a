"""Starts the telemetry of a command, and stops it after its event loop has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

from sluicegate._util.tasks import cancel_all
from sluicegate.config import TelemetrySettings
from sluicegate.telemetry import metrics
from sluicegate.telemetry.metrics import measure_event_loop
from sluicegate.telemetry.setup import configure, prometheus_metrics

if TYPE_CHECKING:
    from prometheus_client import Metric

    from sluicegate.telemetry.export.prometheus import PrometheusMetrics

_T = TypeVar("_T")


class Exporter:
    """The telemetry of this process.

    Attributes:
        prometheus: The metrics of this process for Prometheus, or `None` if that export is off.
    """

    def __init__(self, telemetry: TelemetrySettings, prometheus: PrometheusMetrics | None) -> None:
        self._telemetry = telemetry
        self.prometheus = prometheus

    async def collect(self) -> Sequence[Metric]:
        """Return the metrics of this process."""
        return [] if self.prometheus is None else await asyncio.to_thread(self.prometheus.collect)

    async def run(
        self,
        work: Callable[[], Awaitable[_T]],
        collect: Callable[[], Awaitable[Sequence[Metric]]] | None = None,
    ) -> _T:
        """Run a server. Meanwhile, measure its event loop and serve the metrics to Prometheus.

        Returns:
            The result of `work`.
        """
        listener = self._telemetry.prometheus
        async with AsyncExitStack() as stack:
            if metrics.instruments() is not None:
                stack.push_async_callback(cancel_all, asyncio.create_task(measure_event_loop()))
            if self.prometheus is not None and listener is not None:
                from sluicegate.cli.metrics.endpoint import serving_metrics

                serving = serving_metrics(listener.host, listener.port, collect or self.collect)
                await stack.enter_async_context(serving)
            return await work()


@contextmanager
def exporting(
    telemetry: TelemetrySettings, *, process: int | None = None, for_supervisor: bool = False
) -> Iterator[Exporter]:
    """Configure logging and the export of telemetry. At the end of the block, what remains is flushed.

    The event loop must have ended by then, because this can block for some seconds.
    """
    is_collected = for_supervisor or telemetry.prometheus is not None
    prometheus = prometheus_metrics() if is_collected else None
    options = telemetry.model_dump(exclude={"prometheus"})
    shutdown = configure(**options, process=process, prometheus=prometheus)
    try:
        yield Exporter(telemetry, prometheus)
    finally:
        shutdown()
