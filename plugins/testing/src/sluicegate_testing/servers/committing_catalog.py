"""An Iceberg REST catalog whose tables can be changed, and that loses requests and responses.

Source: Iceberg REST specification, `loadTable`, `updateTable` and `dropTable`.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

_HTTP_OK, _HTTP_CONFLICT, _HTTP_NOT_FOUND, _HTTP_NO_CONTENT = 200, 409, 404, 204


class Fault(Enum):
    """A failure of a request: the status of its response, if any, and when it is applied.

    Attributes:
        status: Status of the response; `None` closes the connection.
        applied: Before the response, never, or `late`: before the next request that changes something.
        headers: Headers of the response.
    """

    CUT_BEFORE = (None, "never")
    CUT_AFTER = (None, "before")
    CUT_LATE = (None, "late")
    BAD_GATEWAY_BEFORE = (502, "never")
    BAD_GATEWAY_AFTER = (502, "before")
    TIMEOUT_LATE = (504, "late")
    FAILED_AFTER = (500, "before")
    PROXY_UNAVAILABLE_AFTER = (503, "before")
    UNAVAILABLE = (503, "never", "0")
    THROTTLED = (429, "never")

    def __init__(self, status: int | None, applied: str, retry_after: str | None = None) -> None:
        self.status = status
        self.applied = applied
        self.headers = {} if retry_after is None else {"Retry-After": retry_after}


class _Refusal(Exception):
    def __init__(self, status: int, kind: str) -> None:
        super().__init__(kind)
        self.document = {"error": {"message": kind, "type": kind, "code": status}}
        self.status = status


@dataclass
class CommittingCatalog:
    """One catalog without warehouse and credentials.

    Attributes:
        uri: Its URL.
        checks: Whether it checks the requirements of commits.
        tables: The metadata of its tables, by namespace and name.
        changes: The applied changes: ids of snapshots, UUIDs of new and dropped tables.
        faults: Failures of the next requests that change something.
        reading_faults: Failures of the next requests that load a table.
    """

    uri: str = ""
    checks: bool = True
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    changes: list[int | str] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    reading_faults: deque[Fault] = field(default_factory=deque)
    _late: list[Callable[[], object]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def settle(self) -> None:
        """Apply late changes."""
        with self._lock:
            self._settle()

    def _settle(self) -> None:
        late, self._late = self._late, []
        for change in late:
            try:
                change()
            except _Refusal:
                continue

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any, Mapping[str, str]] | None:
        """Return status, document and headers of a response; `None` closes the connection."""
        if path.endswith("/v1/config"):
            return _HTTP_OK, {"defaults": {}, "overrides": {}}, {}
        table = path.partition("/namespaces/")[2].partition("?")[0]
        with self._lock:
            if method == "GET":
                return self._answered(self.reading_faults, lambda: self._load(table))
            self._settle()
            document = json.loads(body) if body else {}
            change = self._drop if method == "DELETE" else self._commit
            return self._answered(self.faults, lambda: change(table, document))

    def _answered(
        self, faults: deque[Fault], execute: Callable[[], tuple[int, Any]]
    ) -> tuple[int, Any, Mapping[str, str]] | None:
        fault = faults.popleft() if faults else None
        if fault is None or fault.applied == "before":
            try:
                status, document = execute()
            except _Refusal as refusal:
                status, document = refusal.status, refusal.document
        if fault is None:
            return status, document, {}
        if fault.applied == "late":
            self._late.append(execute)
        return None if fault.status is None else (fault.status, {}, fault.headers)

    def _load(self, table: str) -> tuple[int, Any]:
        if table not in self.tables:
            raise _Refusal(_HTTP_NOT_FOUND, "NoSuchTableException")
        location = f"memory://metadata/{len(self.changes)}.json"
        return _HTTP_OK, {"metadata-location": location, "metadata": self.tables[table]}

    def _drop(self, table: str, _: object) -> tuple[int, Any]:
        if table not in self.tables:
            raise _Refusal(_HTTP_NOT_FOUND, "NoSuchTableException")
        self.changes.append(f"dropped {self.tables.pop(table)['table-uuid']}")
        return _HTTP_NO_CONTENT, None

    def _commit(self, table: str, document: Mapping[str, Any]) -> tuple[int, Any]:
        known = self.tables.get(table)
        if self.checks and not all(_holds(each, known) for each in document["requirements"]):
            raise _Refusal(_HTTP_CONFLICT, "CommitFailedException")
        metadata = known or _empty_table()
        for update in document["updates"]:
            self._apply(update, metadata)
        self.tables[table] = metadata
        return self._load(table)

    def _apply(self, update: Mapping[str, Any], metadata: dict[str, Any]) -> None:
        match update["action"]:
            case "assign-uuid":
                metadata["table-uuid"] = update["uuid"]
                self.changes.append(update["uuid"])
            case "set-location":
                metadata["location"] = update["location"]
            case "set-properties":
                metadata["properties"] |= update["updates"]
            case "add-snapshot":
                metadata["snapshots"].append(update["snapshot"])
                self.changes.append(update["snapshot"]["snapshot-id"])
            case "set-snapshot-ref":
                metadata["current-snapshot-id"] = update["snapshot-id"]


def _empty_table() -> dict[str, Any]:
    return {
        "format-version": 2,
        "table-uuid": str(uuid4()),
        "location": "",
        "last-column-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": []}],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "properties": {},
        "snapshots": [],
        "current-snapshot-id": None,
    }


def _holds(requirement: Mapping[str, Any], metadata: Mapping[str, Any] | None) -> bool:
    if requirement["type"] == "assert-create":
        return metadata is None
    if metadata is None:
        return False
    match requirement["type"]:
        case "assert-table-uuid":
            return bool(metadata["table-uuid"] == requirement["uuid"])
        case "assert-ref-snapshot-id":
            return bool(metadata["current-snapshot-id"] == requirement["snapshot-id"])
    return True


@contextmanager
def committing_catalog() -> Iterator[CommittingCatalog]:
    """Serve the catalog on loopback until the context ends."""
    catalog = CommittingCatalog()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(catalog))
    catalog.uri = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield catalog
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(catalog: CommittingCatalog) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet for a response: two of them would wait for each other

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = catalog.answer(self.command, self.path, body)
            if answer is None:
                self.close_connection = True
                return
            status, document, headers = answer
            content = b"" if status == _HTTP_NO_CONTENT else json.dumps(document).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != _HTTP_NO_CONTENT:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_DELETE(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler
