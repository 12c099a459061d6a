"""An OTLP/HTTP collector, and a uvicorn server for any ASGI application, both on loopback."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import uvicorn
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from starlette.types import ASGIApp

from sluicegate_testing.secrets import keep_written

SECRET = "zq8Wm2Rk5Tn7Yp4Lx9Vb3"  # no log line, span or metric may hold it

Attributes = dict[str, str | int | float | bool]


@dataclass
class Collector:
    """What an OTLP collector has received; `payloads` are the decompressed bodies by path."""

    endpoint: str
    payloads: list[tuple[str, bytes]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def spans(self) -> dict[str, Span]:
        """The received spans by name."""
        exports = [ExportTraceServiceRequest.FromString(body) for body in self._bodies("/v1/traces")]
        scopes = [s for e in exports for resource in e.resource_spans for s in resource.scope_spans]
        return {span.name: span for scope in scopes for span in scope.spans}

    @property
    def metrics(self) -> dict[str, Metric]:
        """The received metrics by name, each as exported last."""
        exports = [ExportMetricsServiceRequest.FromString(body) for body in self._bodies("/v1/metrics")]
        scopes = [s for e in exports for resource in e.resource_metrics for s in resource.scope_metrics]
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    @property
    def resource(self) -> Attributes:
        """Attributes of the resource that sent the first spans."""
        export = ExportTraceServiceRequest.FromString(self._bodies("/v1/traces")[0])
        return attributes_of(export.resource_spans[0].resource.attributes)

    def _bodies(self, path: str) -> list[bytes]:
        return [body for at, body in self.payloads if at == path]


def attributes_of(pairs: Iterable[KeyValue]) -> Attributes:
    """Protobuf attributes as a dictionary."""
    return {
        pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value")
        for pair in pairs
    }


@contextmanager
def running_collector() -> Iterator[Collector]:
    """A collector on a free port, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            keep_written("spans", body)
            collector.payloads.append((self.path, body))
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """The application behind uvicorn on a free port, until the block ends; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, lifespan="off", access_log=False, log_config=None, ws="none")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:
            assert not serving.done(), "uvicorn did not start"
            await asyncio.sleep(0.005)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
        listener.close()
