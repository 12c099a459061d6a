"""Exports traces and metrics by OTLP over HTTP. Imported lazily: it requires `sluicegate[otel]`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from threading import Thread
from time import monotonic
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import set_meter_provider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from sluicegate.telemetry import metrics, spans

FLUSH_SECONDS = 5.0
_INSTANCE = "service.instance.id"


def install(endpoint: str, service_name: str, process: int | None = None) -> Callable[[], None]:
    """Start the export, and return a function that flushes and stops it.

    Args:
        endpoint: Base URL of the collector; `/v1/traces` and `/v1/metrics` are appended (OTLP
            specification, "OTLP/HTTP Request").
        service_name: `service.name` of the resource, unless the environment names another.
        process: Id of this process, if several have the same environment. It is appended to an instance
            id that the environment sets.
    """
    base = endpoint.rstrip("/")
    resource = _resource(service_name, process)
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces")))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{base}/v1/metrics"))
    meters = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    # An external instrumentation of the process has set its providers already, and keeps them.
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        trace.set_tracer_provider(tracers)
        set_meter_provider(meters)
    spans.enable(tracers.get_tracer("sluicegate"))
    metrics.enable(meters.get_meter("sluicegate"))

    def stop() -> None:
        spans.disable()
        metrics.disable()
        _run_at_most(FLUSH_SECONDS, tracers.shutdown, meters.shutdown)

    return stop


def _resource(service_name: str, process: int | None) -> Resource:
    """Describe this process, with a unique instance id.

    See OpenTelemetry semantic conventions, "Service".
    """
    own = {
        "service.name": service_name,
        "service.version": version("sluicegate"),
        _INSTANCE: str(uuid4()),
    }
    resource = Resource.create(own).merge(OTELResourceDetector().detect())
    instance = str(resource.attributes[_INSTANCE])
    if process is None or instance == own[_INSTANCE]:
        return resource
    return resource.merge(Resource({_INSTANCE: f"{instance}-{process}"}))


def _run_at_most(seconds: float, *flushes: Callable[[], None]) -> None:
    """Run functions concurrently, and abandon those that an unreachable collector blocks."""
    deadline = monotonic() + seconds
    threads = [Thread(target=flush, daemon=True) for flush in flushes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - monotonic()))
