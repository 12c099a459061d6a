"""Server-side plans of an Iceberg client, of all files and by a filter; PyIceberg plans the same."""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from benchmarks.peers.pyiceberg_plan import client_seconds, planning_seconds
from benchmarks.support.http import Connection
from benchmarks.support.iceberg_requests import IcebergRequests, Scan, order_filter
from benchmarks.support.report import Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import shared_table
from benchmarks.support.table import ORDER_IDS_A_FILE, partition_date
from benchmarks.support.usage import spent


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=10_000, help="files (default 10000)")
    parser.add_argument("--left", type=int, default=28, help="files that match (default 28)")
    parser.add_argument(
        "--compressed", metavar="CODING", nargs="?", const="gzip", help="of the answers (default gzip)"
    )
    parser.add_argument("--requests", type=int, default=10, help="scans of a round (default 10)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements (default 5)")


def run(options: argparse.Namespace) -> Report:
    """One scan of all files loads the table; the first filter reads statistics; then warm scans."""
    coding = {"accept-encoding": options.compressed} if options.compressed else {}
    with (
        shared_table(options.files) as table,
        Connection(table.gateway.address) as connection,
    ):
        pid, client = table.gateway.pid, IcebergRequests(table.gateway, coding)
        with spent(pid) as cold:
            everything = client.scan({})
        assert len(everything.tasks) == options.files, f"{len(everything.tasks)} files were planned"
        with spent(pid) as first:
            some = client.scan({"filter": _filter(options)})
        assert len(some.tasks) == options.left, f"{len(some.tasks)} files were planned"
        scans = {"": _Rounds(pid, everything), "predicate_": _Rounds(pid, some)}
        for _ in range(options.rounds):
            for rounds in scans.values():
                rounds.measure(connection, options.requests)
        figures: dict[str, float] = {
            "cold_cpu_seconds": cold.cpu_seconds,
            "first_predicate_cpu_seconds": first.cpu_seconds,
            "client_cpu_seconds": client_seconds(everything.tasks, options.rounds),
        }
        for name, rounds in scans.items():
            figures |= rounds.figures(name)
        figures[SHA256] = sha256_per_cpu_second()
    planning = planning_seconds(options.files, options.left, options.rounds)
    peer = {
        "cpu_seconds_per_request": planning.everything,
        "predicate_cpu_seconds_per_request": planning.some,
        "cold_cpu_seconds": planning.first,
    }
    return Report(figures, {"pyiceberg_plan_files": peer})


class _Rounds:
    """Rounds of one scan, whose responses are read and thrown away."""

    def __init__(self, pid: int, scan: Scan) -> None:
        self._pid = pid
        self._scan = scan
        self._cpu: list[float] = []
        self._total: list[float] = []
        self._size = 0

    def measure(self, connection: Connection, scans: int) -> None:
        """Send the requests of one round."""
        with spent(self._pid) as used:
            for _ in range(scans):
                answers = [connection.ask(request) for request in self._scan.requests]
                self._total.append(sum(answer.total_seconds for answer in answers))
                self._size = sum(answer.size for answer in answers)
        self._cpu.append(used.cpu_seconds / scans)

    def figures(self, name: str) -> dict[str, float]:
        """The medians of all rounds, each named with a prefix."""
        return {
            f"{name}cpu_seconds_per_request": statistics.median(self._cpu),
            f"{name}total_seconds": statistics.median(self._total),
            f"{name}answer_mb": self._size / 1_000_000,
        }


def _filter(options: argparse.Namespace) -> dict[str, Any]:
    """A range of order ids in the middle of the table, and the dates that they have there."""
    files = range(options.files // 2, options.files // 2 + options.left)
    low, high = files.start * ORDER_IDS_A_FILE, files.stop * ORDER_IDS_A_FILE
    return order_filter(low, high, sorted({partition_date(file) for file in files}))
