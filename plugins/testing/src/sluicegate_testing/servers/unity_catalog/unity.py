"""A fake of Unity Catalog on loopback, because package registries contain no server.

Its responses are like those of Unity Catalog 0.6.0: paging, errors of both kinds, authorization,
credentials, and the commits of catalog-managed tables. `UnityState.version` selects an older version.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from sluicegate_testing.servers.unity_catalog._unity_api import UnityState
from sluicegate_testing.servers.unity_catalog._unity_assets import (
    model_info,
    version_info,
    volume_info,
)
from sluicegate_testing.servers.unity_catalog._unity_http import UnityReply, UnityRequest
from sluicegate_testing.servers.unity_catalog._unity_identity import Distrust

__all__ = [
    "Distrust",
    "UnityReply",
    "UnityRequest",
    "UnityServer",
    "UnityState",
    "model_info",
    "table_info",
    "version_info",
    "volume_info",
]

_ZERO_UUID = "00000000-0000-0000-0000-0000000000"


@dataclass
class UnityServer:
    """A running fake.

    Attributes:
        uri: Its URL.
        state: Its contents, which tests can change.
        requests: All requests.
        instead: Returns a response to use instead of the normal one, or `None`. With it, tests simulate
            wrong responses.
    """

    uri: str = ""
    state: UnityState = field(default_factory=UnityState)
    requests: list[UnityRequest] = field(default_factory=list)
    instead: Callable[[UnityRequest], UnityReply | None] | None = None

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[UnityServer]:
        """Serve on a free port of loopback until the block ends."""
        server = cls()
        with _Server(("127.0.0.1", 0), server._handler()) as http:
            thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
            thread.start()
            server.uri = f"http://127.0.0.1:{http.server_port}"
            try:
                yield server
            finally:
                http.shutdown()
                thread.join()

    def answer(self, request: UnityRequest) -> UnityReply:
        """Return the response to a request."""
        self.requests.append(request)
        lie = self.instead(request) if self.instead is not None else None
        return lie or self.state.answer(request)

    def count(self, path_end: str) -> int:
        """Return the number of requests whose path has this suffix."""
        return sum(request.path.endswith(path_end) for request in self.requests)

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
                request = UnityRequest(
                    str(self.command), unquote(parts.path), query, dict(self.headers.items()), body
                )
                reply = answer(request)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.content)))
                self.end_headers()
                self.wfile.write(reply.content)

            def log_message(self, format: str, *args: object) -> None:
                """Stay quiet."""

        return Handler


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors of the catalog itself, not of clients that close their connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def table_info(
    full_name: str, location: str | None, number: int = 1, /, **changed: Any
) -> dict[str, Any]:
    """A table as the catalog describes it.

    Args:
        full_name: `catalog.schema.table`.
        location: The `storage_location`.
        number: Determines id and time of creation.
        changed: Other members.
    """
    catalog, schema, table = full_name.split(".")
    field_json = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    column = {"name": "id", "type_text": "bigint", "type_json": json.dumps(field_json)}
    unset = ("type_precision", "type_scale", "type_interval_type", "comment", "partition_index")
    known: Mapping[str, Any] = {
        "name": table,
        "catalog_name": catalog,
        "schema_name": schema,
        "table_type": "EXTERNAL",
        "data_source_format": "DELTA",
        "columns": [
            {**column, "type_name": "LONG", "position": 0, "nullable": True, **dict.fromkeys(unset)}
        ],
        "storage_location": location,
        "comment": None,
        "properties": {},
        "owner": None,
        "created_at": 1_780_000_000_000 + number,
        "created_by": None,
        "updated_at": 1_780_000_000_000 + number,
        "updated_by": None,
        "table_id": f"{_ZERO_UUID}{number:02}",
        "view_definition": None,
        "view_dependencies": None,
    }
    return {**known, **changed}
