"""The HTTP server of fake catalogs, with its requests and responses."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlsplit


@dataclass(frozen=True)
class Request:
    """A request: the path as sent, and headers with names in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(repr=False)
    form: Mapping[str, str] = field(repr=False)

    @property
    def client(self) -> tuple[str, ...]:
        """Id and secret of an OAuth client, from HTTP Basic or the form."""
        basic = self.headers.get("authorization", "").partition("Basic ")[2]
        if basic:
            return tuple(map(unquote_plus, base64.b64decode(basic).decode().split(":")))
        return self.form.get("client_id", ""), self.form.get("client_secret", "")


@dataclass(frozen=True)
class Reply:
    """A response: status, a JSON document or bytes, and headers."""

    status: int
    document: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def cut(cls) -> Reply:
        """Close the connection without a response."""
        return cls(0)

    @classmethod
    def error(cls, status: int, kind: str, message: str) -> Reply:
        """Return an error in Iceberg's format."""
        return cls(status, {"error": {"message": message, "type": kind, "code": status}})


@contextmanager
def serve(answer: Callable[[int], Callable[[Request], Reply]]) -> Iterator[None]:
    """Serve requests on loopback until the context ends.

    Args:
        answer: Returns the request handler for a port. The handler is called in many threads.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.RequestHandlerClass = _handler(answer(server.server_port))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(answer: Callable[[Request], Reply]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer({})

        def do_DELETE(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer({name: values[0] for name, values in parse_qs(body).items()})

        def do_PATCH(self) -> None:
            self.do_POST()

        def _answer(self, form: Mapping[str, str]) -> None:
            url = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = answer(Request(self.command, url.path, query, headers, form))
            if not reply.status:
                self.close_connection = True
                return
            document = reply.document
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(reply.status)
            if body and "gzip" in headers.get("accept-encoding", ""):
                body = gzip.compress(body)
                self.send_header("Content-Encoding", "gzip")
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler
