"""A mix of requests of a recipient, and servers that it is sent to by many clients."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from benchmarks.support.gateway import ServedGateway
from benchmarks.support.load import ask_concurrently, bodies
from benchmarks.support.report import Figures
from benchmarks.support.shared_table import TABLE
from benchmarks.support.table import SyntheticTable, partition_date
from benchmarks.support.usage import process_tree, spent

# Seconds for which responses gather before the clients read them: much less than what the servers
# need for as many requests as there are clients.
_PAUSE = 0.0005
_QUERY = f"{TABLE}/query"


@dataclass
class MeasuredServer:
    """Server processes, their requests, and what was measured; the first round warms them up."""

    pids: Sequence[int]
    address: str
    mix: list[bytes]
    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    client_cpu: list[float] = field(default_factory=list)

    def measure(self, clients: int, requests: int) -> None:
        """Send requests of the mix, and keep what they took."""
        with spent(*self.pids) as used:
            load = ask_concurrently(
                self.address, self.mix, connections=clients, requests=requests, pause=_PAUSE
            )
        self.rates.append(requests / load.seconds)
        self.cpu.append(used.cpu_seconds / requests)
        self.client_cpu.append(load.cpu_seconds / requests)

    def figures(self, suffix: str = "") -> Figures:
        """The medians of all rounds but the first."""
        cpu = statistics.median(self.cpu[1:])
        return {
            f"requests_per_second{suffix}": statistics.median(self.rates[1:]),
            f"cpu_seconds_per_request{suffix}": cpu,
            f"client_cpu_seconds_per_request{suffix}": statistics.median(self.client_cpu[1:]),
            f"requests_per_cpu_second{suffix}": 1 / cpu,
        }


def measured_gateway(pid: int, address: str, mix: Sequence[MixedRequest]) -> MeasuredServer:
    """A gateway with all its processes. Its responses are checked here, once."""
    for expected, body in zip(mix, bodies(address, [each.encoded for each in mix]), strict=True):
        lines = body.count(b"\n")
        assert lines == expected.lines, f"{lines} lines were answered, not {expected.lines}"
        assert expected.holds in body, f"the response lacks {expected.holds!r}"
    return MeasuredServer(process_tree(pid), address, [each.encoded for each in mix])


@dataclass(frozen=True)
class MixedRequest:
    """A request as it goes over the wire, and what its response holds: a text, and lines."""

    encoded: bytes
    holds: bytes = b""
    lines: int = 0


def request_mix(gateway: ServedGateway, files: int) -> list[MixedRequest]:
    """Ten requests: listings, versions, metadata, two queries of a partition, one of all files."""
    date = {"op": "column", "name": "date", "valueType": "date"}
    value = {"op": "literal", "value": partition_date(0), "valueType": "date"}
    hints = orjson.dumps({"op": "equal", "children": [date, value]}).decode()
    partition = gateway.request("POST", _QUERY, {}, orjson.dumps({"jsonPredicateHints": hints}))
    everything = gateway.request("POST", _QUERY, {"accept-encoding": "gzip"}, b"{}")
    selected = sum(partition_date(row) == partition_date(0) for row in SyntheticTable(files).rows())
    return [
        MixedRequest(gateway.request("GET", "/shares"), b'"sales"'),
        MixedRequest(gateway.request("GET", "/shares/sales/schemas"), b'"eu"'),
        MixedRequest(gateway.request("GET", "/shares/sales/schemas/eu/tables"), b'"orders"'),
        *[
            MixedRequest(gateway.request("GET", f"{TABLE}/version")),
            MixedRequest(gateway.request("GET", f"{TABLE}/metadata"), b"schemaString", 2),
        ]
        * 2,
        *[MixedRequest(partition, b"X-Amz-Signature", selected + 2)] * 2,
        MixedRequest(everything, b"X-Amz-Signature", files + 2),
    ]
