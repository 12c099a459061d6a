"""A server in the place of a catalog that answers as no catalog should."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.tables.iceberg_by_hand import deflated

_SIZE = 1_000_000_000
_CHUNK = b" " * 65_536


@dataclass
class HostileCatalog:
    """The server: `mode` says what it answers to all but `/v1/config`.

    Attributes:
        mode: `endless`, `bomb`, `huge`, `slow`, `silent`, or bytes that it answers.
    """

    uri: str = ""
    mode: str | bytes = b"{}"
    over: threading.Event = field(default_factory=threading.Event)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        mode = b"{}" if handler.path.partition("?")[0].endswith("/v1/config") else self.mode
        if isinstance(mode, bytes):
            _send(handler, mode)
        elif mode == "bomb":
            bomb = deflated(b" ", _SIZE, before=b"{", gzip=True)
            _send(handler, bomb, {"Content-Encoding": "gzip"})
        elif mode == "huge":
            _head(handler, {"Content-Length": str(_SIZE)})
            self._stream(handler, _SIZE // len(_CHUNK))
        elif mode == "endless":
            _head(handler, {"Connection": "close"})
            self._stream(handler, 10 * _SIZE // len(_CHUNK))
        elif mode == "slow":
            _head(handler, {"Connection": "close"})
            while not self.over.wait(0.1):
                handler.wfile.write(b" ")
        else:
            self.over.wait(30)

    def _stream(self, handler: BaseHTTPRequestHandler, chunks: int) -> None:
        for _ in range(chunks):
            if self.over.is_set():
                return
            handler.wfile.write(_CHUNK)


@contextmanager
def hostile_catalog() -> Iterator[HostileCatalog]:
    """Serve on a free port of loopback until the block ends."""
    catalog = HostileCatalog()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_GET(self) -> None:
            with suppress(OSError):  # the client has had enough
                catalog.answer(self)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        catalog.uri = f"http://127.0.0.1:{server.server_port}"
        try:
            yield catalog
        finally:
            catalog.over.set()
            server.shutdown()
            thread.join()


def inline_metadata(location: str, snapshots: int) -> bytes:
    """What a catalog answers of a table, with metadata that nobody reads."""
    summary = {"operation": "append", "added-data-files": "1", "spark.app.id": "local-1700000000000"}
    snapshot = {"snapshot-id": 1, "timestamp-ms": 1, "manifest-list": "s3://l/m", "summary": summary}
    metadata = {"location": location, "table-uuid": "u", "snapshots": [snapshot] * snapshots}
    loaded = {"metadata-location": f"{location}/metadata/1.metadata.json", "metadata": metadata}
    return json.dumps(loaded).encode()


def _send(handler: BaseHTTPRequestHandler, body: bytes, headers: dict[str, str] | None = None) -> None:
    _head(handler, {"Content-Length": str(len(body)), **(headers or {})})
    handler.wfile.write(body)


def _head(handler: BaseHTTPRequestHandler, headers: dict[str, str]) -> None:
    handler.send_response(200)
    for name, value in {"Content-Type": "application/json", **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
