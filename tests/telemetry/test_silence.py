"""Work that no request caused is in no span and no metric."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sluicegate.telemetry import count, metrics, silence, span, spans


async def _work() -> None:
    def step() -> None:
        with span("snapshot"):
            count("sluicegate.snapshots")
            metrics.gauge("sluicegate.answers.memory", 1)

    step()
    await asyncio.to_thread(step)
    await asyncio.create_task(asyncio.to_thread(step))


@pytest.mark.parametrize("silent", [False, True])
async def test_silent_work_is_not_recorded(silent: bool) -> None:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider([reader])
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    spans.enable(tracers.get_tracer("test"))
    metrics.enable(meters.get_meter("test"))
    try:
        if silent:
            with silence():
                await _work()
        else:
            await _work()
    finally:
        spans.disable()
        metrics.disable()
    assert len(exporter.get_finished_spans()) == (0 if silent else 3)
    assert (reader.get_metrics_data() is None) == silent
