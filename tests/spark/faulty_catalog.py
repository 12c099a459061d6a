"""Iceberg's own REST catalog behind a proxy that breaks the creation of tables, by their names."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import orjson
from spark.conversion_lake import ServedCatalog, icebergs_catalog

from sluicegate_testing.servers.seaweedfs import SeaweedFS

RENUMBERED, REFUSED, LEFT = "of_renumbered", "of_refused", "of_left"
_REFUSAL = {"error": {"message": "no", "type": "BadRequestException", "code": 400}}


@dataclass
class _Spoiler:
    """Decides which requests to break."""

    upstream: str
    left: set[str] = field(default_factory=lambda: {"POST", "DELETE"})

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        table = path.partition("?")[0].rpartition("/")[2]
        document = orjson.loads(body) if body else {}
        if self._refuses(method, table, document):
            return 400, orjson.dumps(_REFUSAL)
        if table == RENUMBERED:
            renumber(document)
        answered = httpx.request(
            method,
            f"{self.upstream}{path}",
            content=orjson.dumps(document) if body else None,
            headers={"Content-Type": "application/json"},
        )
        return answered.status_code, answered.content

    def _refuses(self, method: str, table: str, document: dict[str, Any]) -> bool:
        updates = document.get("updates", ())
        spoils = method == "DELETE" or any(each["action"] == "add-snapshot" for each in updates)
        if table == LEFT and spoils and method in self.left:
            self.left.remove(method)
            return True
        return table == REFUSED and spoils and method == "POST"


def renumber(document: dict[str, Any]) -> None:
    """Assign other field ids to the columns of a new table, and to its partitions."""
    for update in document.get("updates", ()):
        for column in update.get("schema", {}).get("fields", ()):
            column["id"] += 10
        for source in update.get("spec", {}).get("fields", ()):
            source["source-id"] += 10


@contextmanager
def faulty_catalog(folder: Path, server: SeaweedFS) -> Iterator[ServedCatalog]:
    """Serve the catalog until the block ends."""
    with icebergs_catalog(folder, server) as catalog:
        proxy = ThreadingHTTPServer(("127.0.0.1", 0), _handler(_Spoiler(catalog.settings["uri"])))
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        uri = {"uri": f"http://127.0.0.1:{proxy.server_port}"}
        try:
            yield ServedCatalog({**catalog.settings, **uri}, {**catalog.client, **uri})
        finally:
            proxy.shutdown()
            thread.join()
            proxy.server_close()


def _handler(spoiler: _Spoiler) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, content = spoiler.answer(self.command, self.path, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else content)

        def do_GET(self) -> None:
            self._forward()

        def do_HEAD(self) -> None:
            self._forward()

        def do_POST(self) -> None:
            self._forward()

        def do_DELETE(self) -> None:
            self._forward()

        def log_message(self, format: str, *args: object) -> None:
            """Suppress the log."""

    return Handler
