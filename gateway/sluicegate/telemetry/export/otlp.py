"""Exports traces and metrics by OTLP over HTTP. Imported lazily: it requires `sluicegate[otel]`."""

from __future__ import annotations

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def exporters(endpoint: str) -> tuple[SpanProcessor, MetricReader]:
    """Start exporters of spans and of metrics."""
    base = endpoint.rstrip("/")
    spans = BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces"))
    metrics = OTLPMetricExporter(endpoint=f"{base}/v1/metrics")
    return spans, PeriodicExportingMetricReader(metrics)
