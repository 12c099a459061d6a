"""Servers that fail in different ways, as the source of a plugin can do at any time.

Each response repeats the request with its headers, as error pages of some servers do. A plugin that
shows messages of a server then exposes its own credentials.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SERVER_WORDS = "words of the failing server"
"""A part of the body of each response."""

CLOSED = "refuses connections"
SLOW = "is slow"
FORBIDS = frozenset({"returns 401", "returns 403"})
MODES = (
    *(CLOSED, "hangs up", "returns 500", "returns 401", "returns 403"),
    *("returns HTML", "returns other JSON", SLOW),
)

# Longer than the kit takes to detect that the event loop makes no progress.
_SLOW_SECONDS = 0.8
_STATUS = {"returns 500": 500, "returns 401": 401, "returns 403": 403, SLOW: 500}


@contextmanager
def failing_servers() -> Iterator[Mapping[str, str]]:
    """Serve on loopback until the block ends, and return the URLs by `MODES`."""
    with ExitStack() as stack:
        yield {mode: stack.enter_context(_listening(mode)) for mode in MODES}


def _listening(mode: str) -> AbstractContextManager[str]:
    return _closed() if mode == CLOSED else _serving(mode)


def failing_store(url: str) -> ObjectStore:
    """Return an S3 store at a failing server, for code that reads tables through obstore."""
    from obstore.store import S3Store

    return S3Store(
        "lake",
        endpoint=url,
        region="us-east-1",
        skip_signature=True,
        client_options={"allow_http": True, "timeout": timedelta(seconds=5)},
        retry_config={"max_retries": 0},
    )


@contextmanager
def _closed() -> Iterator[str]:
    """Reserve a port without a listener, which no other process can use."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@contextmanager
def _serving(mode: str) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(mode)) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _handler(mode: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_GET(self) -> None:
            request = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if mode == "hangs up":
                self.close_connection = True
                return
            if mode == SLOW:
                time.sleep(_SLOW_SECONDS)
            sent = f"{self.requestline} {self.headers} {request.decode(errors='replace')}"
            said = f"{SERVER_WORDS}: {sent}"
            body = f"<html>{said}</html>" if mode == "returns HTML" else json.dumps({"error": said})
            self.send_response(_STATUS.get(mode, 200))
            self.send_header("Content-Type", "text/html" if body[0] == "<" else "application/json")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body.encode())

        do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - names of http.server

        def log_message(self, format: str, *args: object) -> None:
            """Show no requests."""

    return Handler
