"""CPU of the audit log: `list` and `query` with the log required and off, in turns in one run.

The log is in the gateway's database, as by default. With many clients, their records share a commit;
with one client, each record has its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from support.gateways.gateway import running_gateway, write_configuration

from benchmarks.support.gateway import ServedGateway, as_recipient
from benchmarks.support.load import ask_concurrently
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import TABLE, SharedTable, shared_table
from benchmarks.support.usage import spent

_SEQUENTIAL = 10  # one client sends fewer requests in a round, because each waits for the disk


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--clients", type=int, default=64, help="side by side (default 64)")
    parser.add_argument("--files", type=int, default=1000, help="of the table (default 1000)")
    parser.add_argument("--requests", type=int, default=4000, help="listings in a round (default 4000)")
    parser.add_argument("--queries", type=int, default=400, help="queries in a round (default 400)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each (default 7)")


def run(options: argparse.Namespace) -> Report:
    """Measure both gateways in turns, so that a busy moment of the machine hits them alike."""
    with ExitStack() as stack:
        table = stack.enter_context(
            shared_table(options.files, replayed=True, cache={"answers": "0"}, audit="off")
        )
        _write_recorded(table)
        recorded = stack.enter_context(running_gateway(table.folder / "recorded"))
        gateways = as_recipient(recorded), table.gateway
        cases = [
            _Case(
                f"{name}{suffix}",
                clients,
                max(count // divisor, 1),
                [_Served(each) for each in gateways],
            )
            for name, count in (("list", options.requests), ("query", options.queries))
            for suffix, clients, divisor in (
                ("", options.clients, 1),
                ("_of_one_client", 1, _SEQUENTIAL),
            )
        ]
        for _ in range(options.rounds + 1):
            for case in cases:
                case.measure()
    figures: dict[str, float] = {}
    peer: dict[str, float] = {}
    for case in cases:
        figures |= case.figures()
        peer |= case.figures_without()
    return Report({**figures, SHA256: sha256_per_cpu_second()}, {"without_log": peer})


def _write_recorded(table: SharedTable) -> None:
    """Write the same configuration with an audit log into a folder below that of the table."""
    settings, shares = (
        json.loads((table.folder / name).read_text()) for name in ("gateway.yaml", "shares.yaml")
    )
    write_configuration(table.folder / "recorded", {**settings, "audit": "required"}, shares)


@dataclass
class _Served:
    """A gateway, and what was measured; the first round warms it up."""

    gateway: ServedGateway
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def measure(self, request: bytes, clients: int, count: int) -> None:
        with spent(self.gateway.pid) as used:
            load = ask_concurrently(
                self.gateway.address, [request], connections=clients, requests=count
            )
        self.cpu.append(used.cpu_seconds / count)
        self.wall.append(load.seconds / count)

    def figures(self, name: str) -> dict[str, float]:
        return {
            f"{name}_cpu_seconds_per_request": statistics.median(self.cpu[1:]),
            f"{name}_seconds_per_request": statistics.median(self.wall[1:]),
        }


@dataclass
class _Case:
    """Requests of one kind to the gateway with the log, and to the one without it."""

    name: str
    clients: int
    count: int
    served: Sequence[_Served]

    def measure(self) -> None:
        for each in self.served:
            each.measure(self._request(each.gateway), self.clients, self.count)

    def figures(self) -> Figures:
        """The figures with the log, and the median of each round's ratio."""
        with_log, without = self.served
        ratios = [one / other for one, other in zip(with_log.cpu[1:], without.cpu[1:], strict=True)]
        return {**with_log.figures(self.name), f"{self.name}_ratio": statistics.median(ratios)}

    def figures_without(self) -> Figures:
        return self.served[1].figures(self.name)

    def _request(self, gateway: ServedGateway) -> bytes:
        if self.name.startswith("list"):
            return gateway.request("GET", "/shares")
        return gateway.request("POST", f"{TABLE}/query", {}, b"{}")
