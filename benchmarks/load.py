"""Requests a second of many clients, with one and with several processes; peer: a bare application.

Every client sends the next request of a mix as soon as it has its response. The clients, and a stand-in
for the store, run on the same cores as the servers. They do as little as possible, and what they use is
reported. It limits `scaling`: where the machine has as many cores as there are processes, one process
has a core for itself, and several have less. `core_scaling` compares several with one process that
shares its core with the clients and the store. As a second peer, processes that share nothing show how
far this machine scales at all.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import orjson
import psutil
from support.gateways.gateway import running_gateway

from benchmarks.peers.bare_route import PATH, bare_server
from benchmarks.support.cores import on_one_core
from benchmarks.support.gateway import ServedGateway
from benchmarks.support.http import encode
from benchmarks.support.load import ask_concurrently, bodies
from benchmarks.support.processes import rate
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, plain_python, sha256_per_cpu_second
from benchmarks.support.shared_table import TABLE, shared_table
from benchmarks.support.table import SyntheticTable, partition_date
from benchmarks.support.usage import spent

# Seconds for which responses gather before the clients read them: much less than what the servers
# need for as many requests as there are clients.
_PAUSE = 0.0005

QUERY = f"{TABLE}/query"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--clients", type=int, default=64, help="side by side (default 64)")
    parser.add_argument("--processes", type=int, default=2, help="of the second gateway (default 2)")
    parser.add_argument("--files", type=int, default=1000, help="of the table (default 1000)")
    parser.add_argument("--requests", type=int, default=6000, help="requests of a round (default 6000)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each (default 7)")


def run(options: argparse.Namespace) -> Report:
    """Measure all in turns, so that a busy moment of the machine hits them alike."""
    with ExitStack() as stack:
        table = stack.enter_context(shared_table(options.files, replayed=True))
        gateway = stack.enter_context(running_gateway(table.folder, processes=options.processes))
        bare = [stack.enter_context(bare_server(number)) for number in (1, options.processes)]
        mix = _mix(table.gateway, options.files)
        one = _gateway(table.gateway.pid, table.gateway.address, mix)
        several = _gateway(gateway.process.pid, gateway.address, mix)
        peers = [
            _Target(each.pids, each.address, [encode("GET", each.address + PATH)]) for each in bare
        ]
        on_a_core = [replace(target, rates=[], cpu=[], client_cpu=[]) for target in (one, peers[0])]
        alone = [_Alone(1), _Alone(options.processes)]
        for _ in range(options.rounds + 1):
            for target in (one, several, *peers):
                target.measure(options.clients, options.requests)
            with on_one_core():
                for target in on_a_core:
                    target.measure(options.clients, options.requests)
            for each in alone:
                each.measure()
    return Report(
        {**_figures(one, several, on_a_core[0]), SHA256: sha256_per_cpu_second()},
        {
            "bare_starlette_route": _figures(peers[0], peers[1], on_a_core[1]),
            "plain_python": {"scaling": _ratio(alone[1].rates, alone[0].rates)},
        },
    )


@dataclass
class _Target:
    """Server processes, their requests, and what was measured; the first round warms them up."""

    pids: Sequence[int]
    address: str
    mix: list[bytes]
    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    client_cpu: list[float] = field(default_factory=list)

    def measure(self, clients: int, requests: int) -> None:
        with spent(*self.pids) as used:
            load = ask_concurrently(
                self.address, self.mix, connections=clients, requests=requests, pause=_PAUSE
            )
        self.rates.append(requests / load.seconds)
        self.cpu.append(used.cpu_seconds / requests)
        self.client_cpu.append(load.cpu_seconds / requests)

    def figures(self, suffix: str = "") -> Figures:
        cpu = statistics.median(self.cpu[1:])
        return {
            f"requests_per_second{suffix}": statistics.median(self.rates[1:]),
            f"cpu_seconds_per_request{suffix}": cpu,
            f"client_cpu_seconds_per_request{suffix}": statistics.median(self.client_cpu[1:]),
            f"requests_per_cpu_second{suffix}": 1 / cpu,
        }


def _figures(one: _Target, several: _Target, on_a_core: _Target) -> Figures:
    return {
        **one.figures(),
        **several.figures("_of_several"),
        "scaling": _ratio(several.rates, one.rates),
        **on_a_core.figures("_on_one_core"),
        "core_scaling": _ratio(several.rates, on_a_core.rates),
    }


def _ratio(more: Sequence[float], less: Sequence[float]) -> float:
    """The median of each round's ratio: a busy moment of the machine lasts longer than a round."""
    return statistics.median(above / below for above, below in zip(more[1:], less[1:], strict=True))


def _gateway(pid: int, address: str, mix: Sequence[_Request]) -> _Target:
    """A gateway with all its processes. Its responses are checked here, once."""
    for expected, body in zip(mix, bodies(address, [each.encoded for each in mix]), strict=True):
        lines = body.count(b"\n")
        assert lines == expected.lines, f"{lines} lines were answered, not {expected.lines}"
        assert expected.holds in body, f"the response lacks {expected.holds!r}"
    workers = [child.pid for child in psutil.Process(pid).children()]
    return _Target([pid, *workers], address, [each.encoded for each in mix])


@dataclass(frozen=True)
class _Request:
    """A request as it goes over the wire, and what its response holds: a text, and lines."""

    encoded: bytes
    holds: bytes = b""
    lines: int = 0


def _mix(gateway: ServedGateway, files: int) -> list[_Request]:
    """Ten requests: listings, versions, metadata, two queries of a partition, one of all files."""
    date = {"op": "column", "name": "date", "valueType": "date"}
    value = {"op": "literal", "value": partition_date(0), "valueType": "date"}
    hints = orjson.dumps({"op": "equal", "children": [date, value]}).decode()
    partition = gateway.request("POST", QUERY, {}, orjson.dumps({"jsonPredicateHints": hints}))
    everything = gateway.request("POST", QUERY, {"accept-encoding": "gzip"}, b"{}")
    selected = sum(partition_date(row) == partition_date(0) for row in SyntheticTable(files).rows())
    return [
        _Request(gateway.request("GET", "/shares"), b'"sales"'),
        _Request(gateway.request("GET", "/shares/sales/schemas"), b'"eu"'),
        _Request(gateway.request("GET", "/shares/sales/schemas/eu/tables"), b'"orders"'),
        *[
            _Request(gateway.request("GET", f"{TABLE}/version")),
            _Request(gateway.request("GET", f"{TABLE}/metadata"), b"schemaString", 2),
        ]
        * 2,
        *[_Request(partition, b"X-Amz-Signature", selected + 2)] * 2,
        _Request(everything, b"X-Amz-Signature", files + 2),
    ]


class _Alone:
    """So many processes that share nothing and serve nobody."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self.rates: list[float] = []

    def measure(self) -> None:
        self.rates.append(rate(plain_python, "", self._processes).per_second)
