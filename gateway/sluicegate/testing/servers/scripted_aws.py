"""A service of AWS that refuses everything in chosen words, and remembers what it was asked.

No test server refuses a policy for its packed size or throttles, and none tells what a client sent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl


@dataclass
class ScriptedAWS:
    """A running service on loopback.

    Attributes:
        endpoint: Its URL.
        requests: The parameters of each request so far.
        private: Words in its refusals that no recipient may see.
    """

    endpoint: str
    requests: list[dict[str, str]] = field(default_factory=list)
    private: str = "words of the service"
    _status: int = 400
    _code: str = "AccessDenied"

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[ScriptedAWS]:
        """Run it until the context ends; it answers `AccessDenied` unless told otherwise."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
        service = cls(f"http://127.0.0.1:{server.server_port}")
        server.RequestHandlerClass = _handler(service)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def refuse(self, status: int, code: str) -> None:
        """Answer this from now on."""
        self._status, self._code = status, code

    @property
    def answer(self) -> tuple[int, bytes]:
        """Status and body of its answers."""
        error = f"<Code>{self._code}</Code><Message>{self.private}</Message>"
        return self._status, f"<ErrorResponse><Error>{error}</Error></ErrorResponse>".encode()


def _handler(service: ScriptedAWS) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            service.requests.append(dict(parse_qsl(body)))
            status, answer = service.answer
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler
