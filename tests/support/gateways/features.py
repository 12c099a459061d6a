"""The features of a gateway that are off by default, as far as this version of it has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, get_args

from pydantic import BaseModel

from sluicegate.config import Settings

# Policies that permit everything still have to be evaluated for each table.
PERMIT_ALL = "permit (principal, action, resource);\n"


def everything(policies: str, collector: str, metrics_port: int) -> dict[str, Any]:
    """Sections of `gateway.yaml` that enable all features, with limits that nobody reaches."""
    unreached = {
        "requests_per_minute": 10_000_000,
        "files_per_day": 1_000_000_000,
        "bytes_per_day": "999TB",
    }
    sections = {
        "server": {"compression": True},
        "limits": {"recipient": unreached, "address": {**unreached, "concurrent_requests": 200}},
        "policies": [{"type": "cedar", "policy_files": [policies]}],
        "admin": {},
        "console": {},
        "audit": {"mode": "required"},
        "telemetry": {
            "log_format": "json",
            "otlp_endpoint": collector,
            "prometheus": {"port": metrics_port},
        },
    }
    return known(sections, Settings)


def nothing() -> dict[str, Any]:
    """Sections of `gateway.yaml` that disable all features that are on by default."""
    sections = {
        "server": {"compression": False},
        "cache": {"answers": 0},
        "audit": {"mode": "off"},
        "telemetry": {"log_format": "json"},
    }
    return known(sections, Settings)


def known(settings: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Settings without those that a model does not have."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if (field := model.model_fields.get(name)) is None:
            continue
        section = _section(field.annotation)
        found[name] = known(value, section) if section and isinstance(value, Mapping) else value
    return found


def _section(annotation: Any) -> type[BaseModel] | None:
    """The model of a section that can be optional."""
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


@contextmanager
def collector() -> Iterator[str]:
    """An endpoint that accepts traces and metrics and keeps nothing, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
