"""The trace of an attempt links to the request that submitted its task."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id, format_trace_id
from support.servers.delegation import (
    Desk,
    FolderPurge,
    RunningClock,
    make_table,
    payload,
)

from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.database import Store
from sluicegate.telemetry import current_traceparent, linked_span, span
from sluicegate.telemetry.export.providers import install

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    stop = install("test", None, [InMemoryMetricReader()], SimpleSpanProcessor(exporter))
    yield exporter
    stop()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    store = await Store.open(f"sqlite:///{tmp_path}/tasks.db")
    settings = DelegationSettings.model_validate({"worker": {"poll_interval": 1}})
    yield Desk(store, settings, RunningClock())
    await store.aclose()


def spans(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {each.name: each for each in exporter.get_finished_spans()}


def ids(found: ReadableSpan) -> tuple[str, str]:
    context = found.get_span_context()
    assert context is not None
    return format_trace_id(context.trace_id), format_span_id(context.span_id)


async def purge(desk: Desk, folder: Path) -> None:
    make_table(folder, "T1", 1)
    with span("request"):
        task = await desk.queue.submit(payload(), "polaris")
    async with desk.working(FolderPurge(folder)):
        await desk.ended(task.id)


async def test_an_attempt_links_to_the_span_that_submitted_the_task(
    desk: Desk, exporter: InMemorySpanExporter, tmp_path: Path
) -> None:
    await purge(desk, tmp_path / "lake")
    found = spans(exporter)
    submit, attempt = found["task.submit"], found["task.attempt"]
    assert submit.parent is not None
    assert submit.parent.span_id == int(ids(found["request"])[1], 16)
    (link,) = attempt.links
    assert (format_trace_id(link.context.trace_id), format_span_id(link.context.span_id)) == ids(submit)
    assert attempt.parent is None
    assert attempt.attributes == {"operation": "TABLE_PURGE", "attempt": 1, "outcome": "SUCCESS"}
    for name in ("task.acquire", "task.run", "task.record"):
        assert ids(found[name])[0] == ids(attempt)[0], name


async def test_polling_for_tasks_creates_no_traces(desk: Desk, exporter: InMemorySpanExporter) -> None:
    assert await desk.leases.acquire("w", ["TABLE_PURGE"]) is None
    assert spans(exporter) == {}


async def test_without_a_trace_nothing_is_stored(desk: Desk) -> None:
    task = await desk.queue.submit(payload(), "polaris")
    assert task.trace_context is None


@pytest.mark.parametrize(
    "traceparent",
    [
        None,
        "",
        "00-zz-zz-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        "x" * 100_000,
    ],
)
def test_a_malformed_trace_context_makes_no_link(
    exporter: InMemorySpanExporter, traceparent: str | None
) -> None:
    with linked_span("task.attempt", traceparent):
        pass
    assert spans(exporter)["task.attempt"].links == ()


def test_a_trace_context_is_read_as_it_was_written(exporter: InMemorySpanExporter) -> None:
    with span("request"):
        written = current_traceparent()
    with linked_span("task.attempt", written):
        pass
    found = spans(exporter)
    (link,) = found["task.attempt"].links
    trace_id, span_id = ids(found["request"])
    assert written is not None
    assert written.startswith(f"00-{trace_id}-{span_id}-")
    assert format_span_id(link.context.span_id) == span_id
    assert link.context.is_remote
    assert link.context.trace_flags.sampled
