"""A change data feed, or a stream, over many commits on a local S3 store: CPU, wall time, requests."""

from __future__ import annotations

import argparse
import statistics

from benchmarks.peers.reference import CHANGES
from benchmarks.support.http import Connection
from benchmarks.support.report import Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import TABLE, SharedTable, shared_log
from benchmarks.support.table import ChangingTable
from benchmarks.support.usage import rss_mb, spent

_CAPABILITIES = "delta-sharing-capabilities"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--commits", type=int, default=100, help="commits of the range (default 100)")
    parser.add_argument("--files", type=int, default=10, help="changed files a commit (default 10)")
    parser.add_argument("--what", choices=("feed", "stream"), default="feed", help="what is asked for")
    parser.add_argument(
        "--format", choices=("parquet", "delta"), default="parquet", help="of the answer"
    )
    parser.add_argument("--requests", type=int, default=20, help="requests of a round (default 20)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements (default 5)")


def run(options: argparse.Namespace) -> Report:
    """The first request, which reads the commits, by itself; then rounds of warm ones."""
    changing = ChangingTable(options.commits, options.files)
    shared = shared_log(changing.log(), {"history": True, "change_feed": True})
    with shared as table, Connection(table.gateway.address) as connection:
        pid, request = table.gateway.pid, _request(table, options)
        with spent(pid) as cold:
            first = connection.ask(request)
        assert first.lines >= options.commits * options.files, f"{first.lines} lines were answered"
        cpu, wall = [], []
        asked_before = table.store.requests
        for _ in range(options.rounds):
            with spent(pid) as used:
                answers = [connection.ask(request) for _ in range(options.requests)]
            cpu.append(used.cpu_seconds / options.requests)
            wall.append(statistics.median(answer.total_seconds for answer in answers))
        asked = table.store.requests - asked_before
        figures = {
            "cpu_seconds_per_request": statistics.median(cpu),
            "total_seconds": statistics.median(wall),
            "store_requests_per_request": asked / (options.rounds * options.requests),
            "answer_lines": first.lines,
            "cold_cpu_seconds": cold.cpu_seconds,
            "cold_total_seconds": first.total_seconds,
            "rss_mb": rss_mb(pid),
            SHA256: sha256_per_cpu_second(),
        }
    return Report(figures, CHANGES)


def _request(table: SharedTable, options: argparse.Namespace) -> bytes:
    headers = {_CAPABILITIES: f"responseformat={options.format}"}
    if options.what == "stream":
        return table.gateway.request("POST", f"{TABLE}/query", headers, b'{"startingVersion":1}')
    return table.gateway.request("GET", f"{TABLE}/changes?startingVersion=1", headers)
