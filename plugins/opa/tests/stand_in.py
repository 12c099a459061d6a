"""A stand-in for a server with the REST API of Open Policy Agent, and the policies of the tests."""

from __future__ import annotations

import gzip
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```rego\n(.*?)```", README, re.DOTALL)

TOKEN = "token-of-the-gateway"

# Rules whose values are no decisions.
WRONG: Mapping[str, tuple[str, Any]] = {
    "boolean": ("boolean := true", True),
    "object": ('object := {"0": true}', {"0": True}),
    "number": ("number := 1", 1),
    "null_value": ("null_value := null", None),
    "booleans": ("booleans := [true, false]", [True, False]),
    "names": ('names contains "orders"', ["orders"]),
    "far": ("far contains 2", [0, 2]),
    "negative": ("negative contains -1", [-1]),
    "fraction": ("fraction contains 0.5", [0.5]),
    "long": ("long := numbers.range(0, 300000)", list(range(300_001))),
    "nested": ("nested contains [0]", [[0]]),
}


def example(given: Mapping[str, Any]) -> list[int]:
    """The decision of the example in the README."""
    properties = given["principal"]["properties"]
    everything = properties.get("tier") == "partner" and given["action"] == "read"
    return [
        position
        for position, table in enumerate(given["tables"])
        if everything or table["tags"].get("region", "") == properties.get("region")
    ]


RULES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {"sluicegate/allow": example}


@contextmanager
def stand_in() -> Iterator[str]:
    """Serve on loopback until the block ends; the URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # one packet for headers and body

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, document = self._answer(body)
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if len(content) > 1024 and "gzip" in self.headers.get("Accept-Encoding", ""):
            content = gzip.compress(content)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answer(self, body: bytes) -> tuple[int, Mapping[str, Any]]:
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, _error("unauthorized", "request rejected by administrative policy")
        route, _, path = self.path.partition("/v1/data/")
        if route:
            return 404, _error("not_found", "404 page not found")
        try:
            given = json.loads(body)["input"]
        except ValueError:
            return 400, _error("invalid_parameter", "body contains malformed input document")
        found = {"decision_id": "1b1d6e4b-2fb1-4a8f-a2c5-4e8ff0b7a9d3"}
        package, _, rule = path.partition("/")
        if path == "wrong/conflict":
            return 500, _error("internal_error", "complete rules must not produce multiple outputs")
        if package == "wrong" and rule in WRONG:
            return 200, {**found, "result": WRONG[rule][1]}
        if path in RULES:
            return 200, {**found, "result": RULES[path](given)}
        return 200, found

    def log_message(self, format: str, *args: object) -> None:
        """Show no requests."""


def _error(code: str, message: str) -> Mapping[str, Any]:
    return {"code": code, "message": message}
