"""What a collector receives when an endpoint is configured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from support.servers.telemetry import SECRET, Attributes, Collector, attributes_of, serving

from sluicegate.api.errors import NotFound, Unavailable
from sluicegate.telemetry import count, span
from sluicegate.telemetry.middleware import RequestTelemetry
from sluicegate.telemetry.setup import Shutdown, configure

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"

Configure = Callable[..., Shutdown]
Observe = Callable[..., Any]


@pytest.fixture
def observe(app: RequestTelemetry, collector: Collector) -> Observe:
    """Send requests to the application, and wait until the collector has it all."""

    async def run(*paths: str, headers: dict[str, str] | None = None) -> list[httpx.Response]:
        shutdown = configure(otlp_endpoint=collector.endpoint, log_format="json")
        try:
            async with serving(app) as address, httpx.AsyncClient(base_url=address) as client:
                return [await client.get(path, headers=headers) for path in paths]
        finally:
            await asyncio.to_thread(shutdown)

    return run


def points(metric: Metric) -> list[tuple[Attributes, Any]]:
    kind = metric.WhichOneof("data")
    assert kind is not None
    return [(attributes_of(point.attributes), point) for point in getattr(metric, kind).data_points]


async def test_a_request_is_one_trace_of_its_steps(observe: Observe, collector: Collector) -> None:
    [response] = await observe("/shares/sales?token=x", headers={"user-agent": "pandas"})
    server, step = collector.spans["GET /shares/{share}"], collector.spans["resolve"]
    assert server.kind == Span.SPAN_KIND_SERVER
    assert (step.trace_id, step.parent_span_id) == (server.trace_id, server.span_id)
    assert attributes_of(step.attributes) == {"catalog": "lake"}
    attributes = attributes_of(server.attributes)
    assert attributes == {
        "http.request.method": "GET",
        "http.route": "/shares/{share}",
        "http.response.status_code": 200,
        "http.response.body.size": len(response.content),
        "url.path": "/shares/sales",
        "url.scheme": "http",
        "network.protocol.version": "1.1",
        "user_agent.original": "pandas",
        "client.address": "127.0.0.1",
        "server.address": "127.0.0.1",
        "sluicegate.request.id": response.headers["x-request-id"],
        "sluicegate.recipient": "acme",
    }
    assert server.status.code == Status.STATUS_CODE_UNSET


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/shares/a", "GET /shares/{share}"),
        ("/console/tables/a/b", "GET /console/tables/{table}"),
        ("/plugin/secret-name", "GET /plugin/{path}"),
        ("/nothing/like/it", "GET"),
    ],
)
async def test_spans_and_metrics_are_named_by_route_templates(
    observe: Observe, collector: Collector, path: str, name: str
) -> None:
    await observe(path)
    assert name in collector.spans
    [(labels, _)] = points(collector.metrics["http.server.request.duration"])
    assert labels.get("http.route") == (name.partition(" ")[2] or None)


async def test_a_trace_of_the_caller_is_continued(observe: Observe, collector: Collector) -> None:
    await observe("/shares/sales", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    server = collector.spans["GET /shares/{share}"]
    assert (server.trace_id.hex(), server.parent_span_id.hex()) == (TRACE, PARENT)


@pytest.mark.parametrize("traceparent", ["", "00-zz-zz-01", f"00-{'0' * 32}-{PARENT}-01", "x" * 1000])
async def test_a_malformed_trace_of_the_caller_is_ignored(
    observe: Observe, collector: Collector, traceparent: str
) -> None:
    await observe("/shares/sales", headers={"traceparent": traceparent})
    assert collector.spans["GET /shares/{share}"].parent_span_id == b""


async def test_log_lines_carry_the_ids_of_the_span_they_were_written_in(
    observe: Observe, collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    await observe("/shares/sales")
    err = capsys.readouterr().err
    for name in ("GET /shares/{share}", "resolve"):
        made = collector.spans[name]
        assert f'"trace_id":"{made.trace_id.hex()}","span_id":"{made.span_id.hex()}"' in err


@pytest.mark.parametrize(
    ("path", "status", "error", "code"),
    [
        ("/missing", 404, None, Status.STATUS_CODE_UNSET),
        ("/unavailable", 503, "503", Status.STATUS_CODE_ERROR),
        ("/broken", 500, "RuntimeError", Status.STATUS_CODE_ERROR),
    ],
)
async def test_only_what_failed_here_is_an_error_and_by_its_type(
    observe: Observe, collector: Collector, path: str, status: int, error: str | None, code: int
) -> None:
    await observe(path)
    server = collector.spans[f"GET {path}"]
    attributes = attributes_of(server.attributes)
    assert (attributes["http.response.status_code"], attributes.get("error.type")) == (status, error)
    assert (server.status.code, server.status.message) == (code, "")
    [(labels, _)] = points(collector.metrics["http.server.request.duration"])
    assert (labels["http.response.status_code"], labels.get("error.type")) == (status, error)
    assert not any(SECRET.encode() in body for _, body in collector.payloads)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError(SECRET), Status.STATUS_CODE_ERROR),
        (Unavailable("the store is down", detail=SECRET), Status.STATUS_CODE_ERROR),
        (NotFound("no such table", detail=SECRET), Status.STATUS_CODE_UNSET),
    ],
)
def test_a_step_that_raises_records_only_the_type(
    configured: Configure, collector: Collector, error: Exception, code: int
) -> None:
    shutdown = configured(otlp_endpoint=collector.endpoint)
    with pytest.raises(type(error)), span("resolve"):
        raise error
    shutdown()
    step = collector.spans["resolve"]
    assert attributes_of(step.attributes) == {"error.type": type(error).__name__}
    assert (step.status.code, step.status.message, len(step.events)) == (code, "", 0)
    [(labels, _)] = points(collector.metrics["sluicegate.step.duration"])
    assert labels == {"step": "resolve", "error.type": type(error).__name__}
    assert not any(SECRET.encode() in body for _, body in collector.payloads)


async def test_metrics_count_requests_steps_and_files(observe: Observe, collector: Collector) -> None:
    await observe("/stream", "/stream")
    metrics = collector.metrics
    labels = {"http.request.method": "GET", "url.scheme": "http"}
    answered = {**labels, "http.route": "/stream", "http.response.status_code": 200}
    [(found, duration)] = points(metrics["http.server.request.duration"])
    assert (found, duration.count) == (answered, 2)
    [(found, size)] = points(metrics["http.server.response.body.size"])
    assert (found, size.sum) == (answered, 60)
    [(found, active)] = points(metrics["http.server.active_requests"])
    assert (found, active.as_int) == (labels, 0)
    [(found, steps)] = points(metrics["sluicegate.step.duration"])
    assert (found, steps.count) == ({"step": "sign"}, 6)
    [(found, signed)] = points(metrics["sluicegate.files.signed"])
    assert (found, signed.as_int) == ({"storage": "s3"}, 12)
    assert metrics["http.server.request.duration"].unit == "s"


async def test_a_request_that_is_being_served_is_counted_as_active(
    app: RequestTelemetry, configured: Configure, collector: Collector
) -> None:
    shutdown = configured(otlp_endpoint=collector.endpoint)
    async with serving(app) as address, httpx.AsyncClient(base_url=address) as client:
        async with client.stream("GET", "/endless") as response:
            chunks = response.aiter_bytes()
            await anext(chunks)
            await asyncio.to_thread(shutdown)  # while `chunks` is held: dropping it hangs up
        [(_, active)] = points(collector.metrics["http.server.active_requests"])
        assert active.as_int == 1


async def test_a_generator_that_another_task_closes_ends_its_span_quietly(
    configured: Configure, collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    async def lines() -> AsyncIterator[int]:
        with span("encode"):
            yield 1
            yield 2

    shutdown = configured(otlp_endpoint=collector.endpoint)
    opened = lines()
    await asyncio.create_task(opened.__anext__())  # type: ignore[arg-type]
    await asyncio.create_task(opened.aclose())  # type: ignore[attr-defined]
    await asyncio.to_thread(shutdown)
    assert collector.spans["encode"].status.code == Status.STATUS_CODE_UNSET
    assert capsys.readouterr().err == ""


def test_the_environment_speaks_where_the_configuration_does_not(
    configured: Configure, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=prod")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=lake")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    shutdown = configured(otlp_endpoint=f"{collector.endpoint}/", service_name="gate-eu")
    with span("step"):
        pass
    shutdown()
    resource = collector.resource
    assert (resource["service.name"], resource["deployment.environment.name"]) == ("gate-eu", "prod")
    assert "service.version" in resource
    assert all(headers["x-tenant"] == "lake" for headers in collector.headers)
    assert all(headers["content-encoding"] == "gzip" for headers in collector.headers)


@pytest.mark.parametrize(
    ("given", "process", "instance"),
    [("gate-1", None, "gate-1"), ("gate-1", 77, "gate-1-77"), (None, 77, None), (None, None, None)],
)
def test_each_process_has_an_instance_id_of_its_own(
    configured: Configure,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    given: str | None,
    process: int | None,
    instance: str | None,
) -> None:
    if given is not None:
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", f"service.instance.id={given}")
    shutdown = configured(otlp_endpoint=collector.endpoint, process=process)
    with span("step"):
        pass
    shutdown()
    found = collector.resource["service.instance.id"]
    assert found == instance if instance is not None else len(str(found)) == 36


def test_a_sampler_of_the_environment_is_used(
    configured: Configure, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    shutdown = configured(otlp_endpoint=collector.endpoint)
    with span("step"):
        pass
    shutdown()
    assert {path for path, _ in collector.payloads} == {"/v1/metrics"}
    assert "sluicegate.step.duration" in collector.metrics


def test_telemetry_can_be_turned_on_again(configured: Configure, collector: Collector) -> None:
    for name in ("first", "second"):
        shutdown = configured(otlp_endpoint=collector.endpoint)
        with span(name):
            count("sluicegate.snapshots", outcome="cached")
        shutdown()
        with span("while off"):
            count("sluicegate.snapshots", outcome="cached")
    assert set(collector.spans) == {"first", "second"}
