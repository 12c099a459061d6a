"""The operators' page lists what is exported: no more and no less.

One gateway and one delegation service do what the page describes, and export to one collector.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import pyarrow as pa
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from support.gateways.s3_lake import s3_lake, storage_of, write_table
from support.servers.delegation import PURGE, Desk, FolderPurge, RunningClock, make_table, payload
from support.servers.scraped import Scraped, metrics_address, scrape
from support.servers.telemetry import Collector, attributes_of, running_collector
from support.tables.deltalog import DeltaFolder, add, metadata, protocol
from support.tables.indexed import index_folder, indexed_tables, write_index
from support.tables.snapshots import latest
from support.tasks.scheduled import Listing, ScheduledService, SetClock, compaction, delegation

from sluicegate._util.tasks import cancel_all
from sluicegate.cli.processes.child import Child
from sluicegate.cli.processes.supervisor import Supervisor
from sluicegate.config.sections.delegation import CallbackSettings, DelegationSettings
from sluicegate.database import Store
from sluicegate.delegation.callbacks import Callbacks
from sluicegate.delegation.queue.metrics import QueueGauges
from sluicegate.http.serving import Tls
from sluicegate.http.shared_listener import ProcessCounts
from sluicegate.telemetry.setup import configure
from sluicegate_testing.servers._certificate import make_certificate
from sluicegate_testing.servers.seaweedfs import SeaweedFS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operators" / "observability.md").read_text()
KINDS = {
    ("sum", True): "counter",
    ("sum", False): "up-down counter",
    ("gauge", None): "gauge",
    ("histogram", None): "histogram",
}
# What only failures, other protocols or plugins produce.
RARE = {"error.type"}
SPAN = re.compile(r'\b(?:inner_|linked_)?span\(\s*f?"([^"]+)"')
METHOD = re.compile(r'self\._call\("(\w+)"')


@dataclass
class Exported:
    """A metric: its kind, unit, and the attributes of all its points."""

    kind: str
    unit: str
    attributes: set[str] = field(default_factory=set)


def rows(title: str) -> list[list[str]]:
    """The cells of the tables below a title, without heads."""
    text = re.split(rf"^#+ {title}$", PAGE, flags=re.MULTILINE)[1]
    text = re.split(r"^#+ ", text, flags=re.MULTILINE)[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def documented_metrics() -> dict[str, Exported]:
    found = {}
    for name, kind_and_unit, attributes, _ in rows("Metrics"):
        kind, unit = kind_and_unit.split(", ")
        found[quoted(name)[0]] = Exported(kind, unit.strip("`"), set(quoted(attributes)))
    return found


def documented_spans() -> dict[str, set[str]]:
    return {
        name: set(quoted(row[1]))
        for title in ("Traces", "Delegated tasks")
        for row in rows(title)
        if len(row) == 3
        for name in quoted(row[0])
    }


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with running_collector() as running:
        yield running


@pytest.fixture(scope="module")
def scraped(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Scraped:
    """What Prometheus reads from a gateway, which also exports to the collector."""
    folder = tmp_path_factory.mktemp("lake")
    with SeaweedFS.start(folder / "store") as server:
        write_table(server, "orders", pa.table({"id": [1, 2]}))
        vending = {"sts_endpoint": server.endpoint, "vending": {"role_arn": server.role_arn}}
        with s3_lake(
            folder / "gateway",
            storage_of(server) | vending,
            ["orders"],
            options={"access_modes": ["url", "dir"]},
            telemetry={"otlp_endpoint": collector.endpoint, "prometheus": {"port": 0}},
            limits={"address": {"requests_per_minute": 60, "burst": 12}},
        ) as lake:
            for _ in range(2):
                assert lake.files("orders")
                assert lake.credentials("orders").status_code == 200
            lake.gateway.process.send_signal(signal.SIGHUP)
            assert lake.gateway.logs("the configuration was reloaded")
            # On a busy machine, the limit refills meanwhile.
            assert any(lake.query("orders").status_code == 429 for _ in range(200))
            return scrape(metrics_address(lake.gateway.log))


@pytest.fixture(scope="module")
def produced(
    collector: Collector, scraped: Scraped, tmp_path_factory: pytest.TempPathFactory
) -> Collector:
    """The collector, after a delegation service and a supervisor have exported, too."""
    shutdown = configure(otlp_endpoint=collector.endpoint, log_level="error")
    try:
        asyncio.run(_tasks(tmp_path_factory.mktemp("tasks")))
        asyncio.run(_fire_a_schedule(tmp_path_factory.mktemp("schedules")))
        asyncio.run(_lose_a_process())
        asyncio.run(_read_from_an_index(tmp_path_factory.mktemp("indexed")))
        files = make_certificate(tmp_path_factory.mktemp("tls"))
        Tls(str(files.certificate), str(files.key)).context()
    finally:
        shutdown()
    return collector


async def _tasks(folder: Path) -> None:
    """Submit a task, run it, measure the queue, and report the outcome."""
    make_table(folder / "lake", "T1", 2)
    store = await Store.open(f"sqlite:///{folder}/tasks.db")
    desk = Desk(
        store, DelegationSettings.model_validate({"worker": {"poll_interval": 1}}), RunningClock()
    )
    try:
        task = await desk.queue.submit(payload(), "polaris")
        await QueueGauges(store, [PURGE]).measure()
        async with desk.working(FolderPurge(folder / "lake")):
            await desk.ended(task.id)
        with _receiver() as url:
            settings = CallbackSettings.model_validate({"url": url})
            assert await Callbacks(store, settings, now=desk.clock.now).push_one()
    finally:
        await store.aclose()


async def _fire_a_schedule(folder: Path) -> None:
    store, clock = await Store.open(f"sqlite:///{folder}/tasks.db"), SetClock("2026-11-26T00:00Z")
    try:
        settings = delegation({"nightly": compaction()})
        service = ScheduledService(store, clock, Listing({"s": ["t"]}), settings)
        await service.step()
        clock.set("2026-11-26T02:00Z")
        await service.step()
    finally:
        await store.aclose()


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _receiver() -> Iterator[str]:
    """A server that accepts callbacks."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/done"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _ShortLived:
    """The source of workers that are ready, and end at once."""

    def __init__(self, listener: socket.socket, counts: ProcessCounts) -> None:
        self.started: list[Child] = []
        self._listener = listener
        self._counts = counts

    async def start(self) -> Child:
        self.started.append(await Child.start(self._fork, self._listener, self._counts))
        return self.started[-1]

    def _fork(self, place: int, descriptors: Sequence[int]) -> None:
        status, _, control, _ = descriptors
        os.write(control, b"http://here\n")
        os.write(status, b"4711\n0\n")

    def renewed(self) -> Self:
        return self

    def close(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


async def _read_from_an_index(folder: Path) -> None:
    table, indexes = DeltaFolder(folder), index_folder()
    table.commit(0, protocol(), metadata(), add("f"))
    write_index(indexes, table.table(), await latest(table))
    assert await indexed_tables(indexes).snapshot(table.table(), table.directory) is not None


async def _lose_a_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ProcessCounts.with_places(3) as counts:
        source = _ShortLived(listener, counts)
        supervisor = Supervisor(source, 1, 0)
        await supervisor.open()
        keeping = asyncio.create_task(supervisor.run())
        await asyncio.sleep(0)
        await source.started[0].ended()
        for _ in range(10):  # turns of the event loop, in which the supervisor notices it, too
            await asyncio.sleep(0)
        await cancel_all(keeping)
        await supervisor.aclose()


def test_the_page_lists_the_metrics_that_are_exported(produced: Collector) -> None:
    listed = documented_metrics()
    found: dict[str, Exported] = {}
    for metric in _metrics(produced):
        kind = metric.WhichOneof("data")
        assert kind is not None
        monotonic = metric.sum.is_monotonic if kind == "sum" else None
        exported = found.setdefault(metric.name, Exported(KINDS[kind, monotonic], metric.unit))
        for point in getattr(metric, kind).data_points:
            exported.attributes |= set(attributes_of(point.attributes))
    assert set(found) == set(listed)
    for name, exported in found.items():
        assert (exported.kind, exported.unit) == (listed[name].kind, listed[name].unit), name
        assert listed[name].attributes - exported.attributes <= RARE, name
        assert exported.attributes <= listed[name].attributes, name


def test_the_page_lists_the_spans_that_are_exported(produced: Collector) -> None:
    listed = documented_spans()
    inside = _inner_spans(produced)
    assert inside.keys() <= listed.keys()
    for name, attributes in inside.items():
        assert attributes - RARE <= listed[name], name
    tasks = {f"task.{each}" for each in ("submit", "attempt", "acquire", "run", "record", "callback")}
    exercised = {"catalog.load_table", "store.get", "store.list", "vend", "sign", "db.read"}
    assert tasks | exercised <= inside.keys()


def test_the_page_lists_the_spans_that_are_in_the_code() -> None:
    sources = [
        path.read_text()
        for folder in ("gateway", "plugins", "catalog_adapters")
        for path in (ROOT / folder).rglob("*.py")
        if "tests" not in path.parts
    ]
    names = {name for source in sources for name in SPAN.findall(source)}
    guarded = (ROOT / "gateway/sluicegate/plugins/catalogs/guarded.py").read_text()
    methods = {f"catalog.{method}" for method in METHOD.findall(guarded)}
    plain = {name for name in names if "{" not in name}
    assert plain - {"task.lease"} | methods == set(documented_spans())


def test_prometheus_reads_the_metrics_that_the_gateway_exports(scraped: Scraped) -> None:
    listed = documented_metrics()
    names = {prometheus_name(name, each.unit): each for name, each in listed.items()}
    assert set(scraped.families) <= set(names)
    elsewhere = {"tasks", "task", "schedules", "processes", "certificate", "index"}
    assert set(names) - set(scraped.families) == {
        prometheus_name(name, each.unit)
        for name, each in listed.items()
        if name.split(".")[1] in elsewhere
    }
    kinds = {
        "counter": "counter",
        "histogram": "histogram",
        "gauge": "gauge",
        "up-down counter": "gauge",
    }
    for name, family in scraped.families.items():
        assert family.type == kinds[names[name].kind], name
        labels = {label.replace(".", "_") for label in names[name].attributes} | {"le"}
        assert {label for sample in family.samples for label in sample.labels} <= labels, name


@pytest.mark.parametrize("file", ["alerts.yaml", "dashboard.json"])
def test_the_rules_and_the_dashboard_use_metrics_that_exist(file: str) -> None:
    text = (ROOT / "deploy" / "prometheus" / file).read_text()
    used = set(re.findall(r"\b(?:sluicegate|http|process|db)_\w+(?=[{)\[, ])", text))
    used -= {"http_route", "http_response_status_code"}
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}
    known = {
        prometheus_name(name, each.unit) + suffix
        for name, each in documented_metrics().items()
        for suffix in suffixes.get(each.kind, ("",))
    }
    assert used
    assert used <= known


def prometheus_name(name: str, unit: str) -> str:
    """The name of a family (OpenTelemetry, "Prometheus and OpenMetrics Compatibility")."""
    suffix = {"s": "_seconds", "By": "_bytes"}.get(unit, "")
    return name.replace(".", "_") + suffix


def _metrics(collector: Collector) -> Iterator[Metric]:
    for path, body in list(collector.payloads):
        if path == "/v1/metrics":
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    yield from scope.metrics


def _inner_spans(collector: Collector) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path, body in list(collector.payloads):
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        if span.kind == Span.SPAN_KIND_SERVER:
                            continue
                        found.setdefault(span.name, set()).update(attributes_of(span.attributes))
    return found
