"""Servers that send their clients elsewhere, and the one that they are sent to."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sluicegate_testing.servers._certificate import CertificateFiles

STATUSES = (301, 302, 303, 307, 308)
INTERNAL = b"only for hosts inside"


@dataclass
class Elsewhere:
    """A server that nobody should be sent to."""

    uri: str = ""
    asked: list[Message] = field(default_factory=list)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer as a store does that has such an object."""
        self.asked.append(handler.headers)
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(INTERNAL)))
        handler.send_header("Last-Modified", "Sun, 22 Nov 2026 20:00:00 GMT")
        handler.send_header("ETag", '"1"')
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(INTERNAL)


@contextmanager
def elsewhere() -> Iterator[Elsewhere]:
    """Serve on a free port of loopback until the block ends."""
    there = Elsewhere()

    class Handler(_Handler):
        def do_GET(self) -> None:
            there.answer(self)

        do_HEAD = do_POST = do_GET  # noqa: N815 - names of http.server

    with _served(Handler) as port:
        there.uri = f"http://127.0.0.1:{port}"
        yield there


@contextmanager
def redirecting(status: int, to: str, certificate: CertificateFiles | None = None) -> Iterator[str]:
    """The URI of a server that redirects each request to the same path elsewhere."""

    class Handler(_Handler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Location", to + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_POST = do_GET  # noqa: N815 - names of http.server

    with _served(Handler, certificate) as port:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not shown."""


@contextmanager
def _served(
    handler: type[BaseHTTPRequestHandler], certificate: CertificateFiles | None = None
) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True  # clients keep connections open
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.certificate, certificate.key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
