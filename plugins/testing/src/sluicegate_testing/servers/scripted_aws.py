"""A fake service of AWS that rejects everything with a given error, and records the requests.

No test server throttles requests, rejects a policy because of its packed size, or reports the requests
of a client.
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
        private: Text in its error messages that recipients must not see.
        is_bare: Whether errors are bare, without an `ErrorResponse` around them, like SeaweedFS's.
    """

    endpoint: str
    requests: list[dict[str, str]] = field(default_factory=list)
    private: str = "words of the service"
    is_bare: bool = False
    _status: int = 400
    _code: str = "AccessDenied"

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[ScriptedAWS]:
        """Run it until the context ends. By default, it returns `AccessDenied`."""
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
        """Return this error from now on."""
        self._status, self._code = status, code

    @property
    def answer(self) -> tuple[int, bytes]:
        """Return status and body of its responses."""
        error = f"<Code>{self._code}</Code><Message>{self.private}</Message>"
        bare = f"<Error>{error}</Error>"
        return self._status, (
            bare if self.is_bare else f"<ErrorResponse>{bare}</ErrorResponse>"
        ).encode()


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
