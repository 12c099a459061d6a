"""Metrics as a real SDK reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from sluicegate.telemetry import metrics


@contextmanager
def recording_metrics() -> Iterator[InMemoryMetricReader]:
    """Record metrics until the block ends."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    metrics.enable(provider.get_meter("tests"))
    try:
        yield reader
    finally:
        metrics.disable()
        provider.shutdown()


def points(reader: InMemoryMetricReader) -> dict[str, list[tuple[dict[str, Any], Any]]]:
    """Return attributes and values (of histograms, counts) by the name of the metric."""
    found: dict[str, list[tuple[dict[str, Any], Any]]] = {}
    data: Any = reader.get_metrics_data()
    for metric in data.resource_metrics[0].scope_metrics[0].metrics:
        for point in metric.data.data_points:
            value = getattr(point, "value", getattr(point, "count", None))
            found.setdefault(metric.name, []).append((dict(point.attributes), value))
    return found
