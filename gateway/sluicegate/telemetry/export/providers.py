"""The providers of OpenTelemetry for this process, which record for one or several exporters."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from time import monotonic
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.metrics import (
    CallbackOptions,
    Meter,
    Observation,
    get_meter_provider,
    set_meter_provider,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from sluicegate.telemetry import metrics, spans

# Linux shows its processes here. Elsewhere, memory and descriptors are not reported.
_MEMORY = Path("/proc/self/statm")
_DESCRIPTORS = Path("/proc/self/fd")


def observe_process(meter: Meter) -> None:
    """Report processor time, memory, file descriptors, uptime and the version of this process."""
    started = time.monotonic()
    build = {"version": version("sluicegate"), "python": platform.python_version()}

    def uptime(options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(time.monotonic() - started)]

    def info(options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(1, build)]

    meter.create_observable_counter(
        "process.cpu.time", [_cpu], unit="s", description="Processor time of the process."
    )
    meter.create_observable_up_down_counter(
        "process.memory.usage", [_memory], unit="By", description="Resident memory of the process."
    )
    meter.create_observable_up_down_counter(
        "process.unix.file_descriptor.count",
        [_descriptors],
        unit="{file_descriptor}",
        description="Open file descriptors of the process.",
    )
    meter.create_observable_gauge(
        "process.uptime", [uptime], unit="s", description="Time since the process was started."
    )
    meter.create_observable_gauge(
        "sluicegate.build.info", [info], unit="{build}", description="Always 1, with the versions."
    )


def _cpu(options: CallbackOptions) -> Iterable[Observation]:
    times = os.times()
    return [
        Observation(times.user, {"cpu.mode": "user"}),
        Observation(times.system, {"cpu.mode": "system"}),
    ]


def _memory(options: CallbackOptions) -> Iterable[Observation]:
    try:
        pages = int(_MEMORY.read_text(encoding="ascii").split()[1])
    except OSError:
        return []
    return [Observation(pages * os.sysconf("SC_PAGE_SIZE"))]


def _descriptors(options: CallbackOptions) -> Iterable[Observation]:
    try:
        return [Observation(sum(1 for _ in _DESCRIPTORS.iterdir()))]
    except OSError:
        return []


FLUSH_SECONDS = 5.0
_INSTANCE = "service.instance.id"
_SCOPE = "sluicegate"


def install(
    service_name: str,
    process: int | None,
    readers: Sequence[MetricReader],
    span_processor: SpanProcessor | None = None,
) -> Callable[[], None]:
    """Start to record, and return a function that flushes and stops it."""
    resource = _resource(service_name, process)
    meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    # An external instrumentation of the process has set its providers already, and keeps them.
    if not isinstance(get_meter_provider(), MeterProvider):
        set_meter_provider(meters)
    meter = meters.get_meter(_SCOPE)
    metrics.enable(meter)
    observe_process(meter)
    flushes: list[Callable[[], None]] = [meters.shutdown]
    if span_processor is None:
        spans.enable(None)
    else:
        tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracers.add_span_processor(span_processor)
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            trace.set_tracer_provider(tracers)
        spans.enable(tracers.get_tracer(_SCOPE))
        flushes.append(tracers.shutdown)

    def stop() -> None:
        spans.disable()
        metrics.disable()
        _run_at_most(FLUSH_SECONDS, *flushes)

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
