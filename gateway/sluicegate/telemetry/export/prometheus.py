"""Metrics in the formats that Prometheus reads. Imported lazily: requires `sluicegate[prometheus]`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import choose_encoder

_OPENMETRICS = "application/openmetrics-text; version=1.0.0"


class PrometheusMetrics:
    """The metrics of this process, with the names that Prometheus expects."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        # Scrape targets have names already, and the gateway is the only scope.
        self.reader = PrometheusMetricReader(
            disable_target_info=True, scope_info_enabled=False, registry=self._registry
        )

    def collect(self) -> list[Metric]:
        """Return the current values. This can take some milliseconds."""
        return list(self._registry.collect())


def exposition(families: Iterable[Metric], accept: str | None) -> tuple[bytes, str]:
    """Encode metrics as Prometheus text, or as OpenMetrics if the client prefers that.

    Returns:
        The body, and its `Content-Type`.
    """
    # The library fails at versions that it does not expect, so it gets no header of a client.
    is_openmetrics = "application/openmetrics-text" in (accept or "")
    encode, content_type = choose_encoder(_OPENMETRICS if is_openmetrics else "")
    return encode(_Collected(families)), content_type


class _Collected(CollectorRegistry):
    """Values that have been collected already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        super().__init__()
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families
