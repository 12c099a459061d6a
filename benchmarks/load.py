"""Requests a second of many clients, with one and with several processes, and of a bare application.

Every client sends the next request of a mix as soon as it has its response. The clients run in one
process beside the servers, so machines with few cores show less than the processes can do.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass, field

import orjson
from support.gateways.gateway import running_gateway

from benchmarks.peers.bare_route import PATH, bare_server
from benchmarks.support.gateway import ServedGateway
from benchmarks.support.http import encode
from benchmarks.support.load import ask_concurrently
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import TABLE, shared_table
from benchmarks.support.table import partition_date


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--clients", type=int, default=64, help="side by side (default 64)")
    parser.add_argument("--processes", type=int, default=2, help="of the second gateway (default 2)")
    parser.add_argument("--files", type=int, default=1000, help="of the table (default 1000)")
    parser.add_argument("--requests", type=int, default=2000, help="requests of a round (default 2000)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each (default 5)")


def run(options: argparse.Namespace) -> Report:
    """Measure all in turns, so that a busy moment of the machine hits them alike."""
    with (
        shared_table(options.files) as table,
        running_gateway(table.folder, processes=options.processes) as several,
        bare_server() as bare,
    ):
        one = _Target(table.gateway.address, _mix(table.gateway))
        more = _Target(several.address, _mix(table.gateway))
        peer = _Target(bare.address, [encode("GET", bare.address + PATH)])
        for _ in range(options.rounds + 1):
            for target in (one, more, peer):
                target.measure(options.clients, options.requests)
    figures = {
        **one.figures(),
        "requests_per_second_of_several": more.per_second,
        "scaling": more.per_second / one.per_second,
        SHA256: sha256_per_cpu_second(),
    }
    return Report(figures, {"bare_starlette_route": peer.figures()})


def _mix(gateway: ServedGateway) -> list[bytes]:
    """Ten requests: listings, versions, metadata, two queries of a partition, one of all files."""
    date = {"op": "column", "name": "date", "valueType": "date"}
    value = {"op": "literal", "value": partition_date(0), "valueType": "date"}
    hints = orjson.dumps({"op": "equal", "children": [date, value]}).decode()
    partition = orjson.dumps({"jsonPredicateHints": hints})
    listings = ("/shares", "/shares/sales/schemas", "/shares/sales/schemas/eu/tables")
    return [
        *(gateway.request("GET", path) for path in listings),
        *(gateway.request("GET", f"{TABLE}/{part}") for part in ("version", "metadata") * 2),
        *(gateway.request("POST", f"{TABLE}/query", {}, partition) for _ in range(2)),
        gateway.request("POST", f"{TABLE}/query", {"accept-encoding": "gzip"}, b"{}"),
    ]


@dataclass
class _Target:
    """A server, its requests, and what was measured; the first round warms it up."""

    address: str
    mix: list[bytes]
    rates: list[float] = field(default_factory=list)

    def measure(self, clients: int, requests: int) -> None:
        seconds = ask_concurrently(self.address, self.mix, connections=clients, requests=requests)
        self.rates.append(requests / seconds)

    @property
    def per_second(self) -> float:
        return statistics.median(self.rates[1:])

    def figures(self) -> Figures:
        return {"requests_per_second": self.per_second}
