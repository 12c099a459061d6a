"""CPU of the Admin API in a large estate, and what others get while it changes; peer: a smaller one.

All tables are in one schema of a share that each recipient can read. The database is SQLite, with the
audit log in it, as by default.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from support.gateways.gateway import RunningGateway, run_here, running_gateway, write_configuration
from support.tables.deltalog import DeltaFolder, metadata, protocol

from benchmarks.support.gateway import ServedGateway, as_recipient
from benchmarks.support.http import Connection, encode
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.usage import spent
from benchmarks.support.visitors import visiting

RECIPIENT = "acme"
_SHARE, _SCHEMA, _OTHER = "lake", "all", "other"
_PAUSE = 0.005
_CLIENTS = 8


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--tables", type=int, default=10_000, help="of the estate (default 10,000)")
    parser.add_argument("--peer-tables", type=int, default=1000, help="of the peer (default 1,000)")
    parser.add_argument("--recipients", type=int, default=1000, help="of both (default 1,000)")
    parser.add_argument("--rounds", type=int, default=15, help="requests of each kind (default 15)")


def run(options: argparse.Namespace) -> Report:
    """Measure both estates in turns, so that a busy moment of the machine hits both alike."""
    with ExitStack() as stack:
        estates = [
            stack.enter_context(_estate(tables, options.recipients))
            for tables in (options.tables, options.peer_tables)
        ]
        measured: list[dict[str, list[float]]] = [{}, {}]
        for number in range(options.rounds + 1):
            for estate, found in zip(estates, measured, strict=True):
                for name, seconds in estate.measure(number).items():
                    found.setdefault(name, []).append(seconds)
        figures, peer = (
            {name: statistics.median(each[1:]) for name, each in found.items()} for found in measured
        )
        ratios = {name: figures[of] / peer[of] for name, of in _RATIOS.items()}
        puts = "put_table_cpu_seconds", "put_recipient_cpu_seconds"
        figures["put_cpu_seconds"] = max(figures[name] for name in puts)
        during = estates[0].during_changes(options.rounds)
        applied = [estate.applied for estate in estates]
    return Report(
        {**ratios, **figures, **during, **applied[0], SHA256: sha256_per_cpu_second()},
        {f"{options.peer_tables}_tables": {**peer, **applied[1]}},
    )


_RATIOS = {
    "put_recipient_ratio": "put_recipient_cpu_seconds",
    "get_recipient_ratio": "get_recipient_cpu_seconds",
    "put_table_ratio": "put_table_cpu_seconds",
    "get_table_ratio": "get_table_cpu_seconds",
}


@dataclass
class _Estate:
    """A gateway that shares so many tables, and its administrator."""

    running: RunningGateway
    recipient: ServedGateway
    token: str
    tables: int
    applied: Figures
    numbers: Iterator[int]

    def measure(self, number: int) -> dict[str, float]:
        """CPU seconds of one request of each kind."""
        table = f"/shares/{_SHARE}/schemas/{_SCHEMA}/tables/t{number}"
        recipient = f"/recipients/r{number}"
        comment = {"comment": f"change {next(self.numbers)}"}
        return {
            "get_recipient_cpu_seconds": self._cpu("GET", recipient),
            "put_recipient_cpu_seconds": self._cpu("PUT", recipient, {"shares": [_SHARE], **comment}),
            "lookup_after_put_recipient_cpu_seconds": self._lookup(),
            "lookup_unchanged_cpu_seconds": self._lookup(),
            "get_table_cpu_seconds": self._cpu("GET", table),
            "put_table_cpu_seconds": self._cpu("PUT", table, _table(self.location, **comment)),
            "lookup_after_write_cpu_seconds": self._lookup(),
            "put_grant_cpu_seconds": self._cpu("PUT", f"{recipient}/grants/{_OTHER}", {}),
            "get_grant_cpu_seconds": self._cpu("GET", f"{recipient}/grants/{_OTHER}"),
            "rotate_cpu_seconds": self._cpu("POST", f"{recipient}/tokens", {"deliver": "profile"}, 201),
            "lookup_after_rotation_cpu_seconds": self._lookup(),
            "delete_grant_cpu_seconds": self._cpu("DELETE", f"{recipient}/grants/{_OTHER}", status=204),
            "list_recipients_cpu_seconds": self._cpu("GET", "/recipients?maxResults=100"),
            "list_shares_cpu_seconds": self._cpu("GET", "/shares?maxResults=100"),
            "list_access_cpu_seconds": self._cpu("GET", "/access?maxResults=100"),
            "put_share_cpu_seconds": self._cpu("PUT", f"/shares/{_OTHER}", {**comment}),
        }

    def during_changes(self, changes: int) -> dict[str, float]:
        """What other recipients get while an administrator changes tables and applies a file."""
        content = _shares(self.tables, self.location, "another comment")
        with visiting(
            self.running.address, "/delta-sharing/shares", [self.recipient.token] * _CLIENTS, _PAUSE
        ) as visits:
            began = time.perf_counter()
            for number in range(changes):
                self.measure(number)
            self._cpu("POST", "/apply", {"shares": content})
            seconds = time.perf_counter() - began
        return {
            "refused_during_changes": visits.refused,
            "answered_during_changes": visits.statuses[200],
            "p99_seconds_during_changes": visits.p99,
            "slowest_seconds_during_changes": max(visits.seconds),
            "seconds_of_changes": seconds,
        }

    @property
    def location(self) -> str:
        """The location of the one table under all names."""
        return f"file://{self.running.folder}/lake/orders"

    def _lookup(self) -> float:
        path = f"/shares/{_SHARE}/schemas/{_SCHEMA}/tables/t{self.tables // 2}/version"
        return self._spent(self.recipient.request("GET", path))

    def _cpu(self, method: str, path: str, body: Any = None, status: int = 200) -> float:
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.token}"}
        url = f"{self.running.address}/admin/v1{path}"
        return self._spent(encode(method, url, headers, content), status)

    def _spent(self, request: bytes, status: int = 200) -> float:
        with Connection(self.running.address) as connection, spent(self.recipient.pid) as used:
            connection.ask(request, status)
        return used.cpu_seconds


@contextmanager
def _estate(tables: int, recipients: int) -> Iterator[_Estate]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluicegate-bench-")))
        DeltaFolder(folder / "lake" / "orders").commit(0, protocol(), metadata())
        storage = {"type": "file", "prefix": f"file://{folder}/lake/"}
        settings = {"catalogs": {"raw": {"type": "paths"}}, "storage": [storage], "admin": {}}
        write_configuration(folder, settings, {})
        location = f"file://{folder}/lake/orders"
        names = [RECIPIENT, *(f"r{number}" for number in range(recipients))]
        shares = {**_shares(tables, location, "all tables"), _OTHER: {}}
        (folder / "shares.yaml").write_text(_as_yaml({"shares": shares, "recipients": _grants(names)}))
        began, began_cpu = time.perf_counter(), time.process_time()
        run_here(folder, "apply", "shares.yaml", "--offline")
        applied = {
            "apply_seconds": time.perf_counter() - began,
            "apply_cpu_seconds": time.process_time() - began_cpu,
        }
        token = json.loads(run_here(folder, "admin", "create", "ada", "--role", "owner", "--json"))
        running = stack.enter_context(running_gateway(folder))
        yield _Estate(running, as_recipient(running), token["token"], tables, applied, count())


def _shares(tables: int, location: str, comment: str) -> dict[str, Any]:
    """The share of all tables."""
    content = {f"t{number}": _table(location, comment) for number in range(tables)}
    return {_SHARE: {"schemas": {_SCHEMA: {"tables": content}}}}


def _table(location: str, comment: str) -> dict[str, Any]:
    return {"catalog": "raw", "table": location, "comment": comment}


def _grants(recipients: Iterable[str]) -> dict[str, Any]:
    return {name: {"shares": [_SHARE]} for name in recipients}


def _as_yaml(content: Any, indent: str = "") -> str:
    """Blocks of YAML as people write them; the `yaml_text` of the gateway is slow."""
    if not isinstance(content, dict) or not content:
        return f" {json.dumps(content)}\n"
    lines = (f"{indent}{key}:{_as_yaml(value, indent + '  ')}" for key, value in content.items())
    return "\n" * bool(indent) + "".join(lines)
