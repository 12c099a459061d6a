"""A stand-in for Unity Catalog, on loopback: no server of it is to be had from package registries.

It answers in the shapes and by the rules that were observed on Unity Catalog 0.6: paging, errors of
both kinds, authorization, credentials, and the commits of catalog-managed tables.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from sluicegate.testing.servers._unity_api import UnityState
from sluicegate.testing.servers._unity_http import Asked, Reply

__all__ = ["Asked", "Reply", "UnityServer", "UnityState", "table_info"]

_ZERO_UUID = "00000000-0000-0000-0000-0000000000"


@dataclass
class UnityServer:
    """The running stand-in.

    Attributes:
        uri: Where it answers.
        state: What it knows; tests change it.
        asked: Every request so far.
        instead: Answers in its place, where it does not return `None`: how tests make it lie.
    """

    uri: str = ""
    state: UnityState = field(default_factory=UnityState)
    asked: list[Asked] = field(default_factory=list)
    instead: Callable[[Asked], Reply | None] | None = None

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[UnityServer]:
        """Serve on a free port of loopback until the block ends."""
        server = cls()
        with ThreadingHTTPServer(("127.0.0.1", 0), server._handler()) as http:
            thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
            thread.start()
            server.uri = f"http://127.0.0.1:{http.server_port}"
            try:
                yield server
            finally:
                http.shutdown()
                thread.join()

    def answer(self, asked: Asked) -> Reply:
        """The answer to one request."""
        self.asked.append(asked)
        lie = self.instead(asked) if self.instead is not None else None
        return lie or self.state.answer(asked)

    def count(self, path_end: str) -> int:
        """How many requests had a path with this end."""
        return sum(asked.path.endswith(path_end) for asked in self.asked)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self.answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 5

            def do_GET(self) -> None:
                self._reply()

            def do_POST(self) -> None:
                self._reply()

            def _reply(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                query = dict(parse_qsl(parts.query, keep_blank_values=True))
                asked = Asked(
                    str(self.command), unquote(parts.path), query, dict(self.headers.items()), body
                )
                reply = answer(asked)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.content)))
                self.end_headers()
                self.wfile.write(reply.content)

            def log_message(self, format: str, *args: object) -> None:
                """Stay quiet."""

        return Handler


def table_info(
    full_name: str, location: str | None, number: int = 1, /, **changed: Any
) -> dict[str, Any]:
    """A table as the catalog describes it.

    Args:
        full_name: `catalog.schema.table`.
        location: Its `storage_location`.
        number: Makes id and time of creation.
        changed: Other members.
    """
    catalog, schema, table = full_name.split(".")
    field_json = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    column = {"name": "id", "type_text": "bigint", "type_json": json.dumps(field_json)}
    known: Mapping[str, Any] = {
        "name": table,
        "catalog_name": catalog,
        "schema_name": schema,
        "table_type": "EXTERNAL",
        "data_source_format": "DELTA",
        "columns": [{**column, "type_name": "LONG", "position": 0, "comment": None, "nullable": True}],
        "storage_location": location,
        "comment": None,
        "properties": {},
        "owner": None,
        "created_at": 1_780_000_000_000 + number,
        "updated_at": None,
        "table_id": f"{_ZERO_UUID}{number:02}",
        "view_definition": None,
    }
    return {**known, **changed}
