"""CPU and requests to the store for one metadata request of an unchanged table on a local S3 store."""

from __future__ import annotations

import argparse
import statistics

from benchmarks.peers.reference import METADATA
from benchmarks.support.http import Connection
from benchmarks.support.report import Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import TABLE, shared_table
from benchmarks.support.usage import rss_mb, spent


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=100, help="files of the table (default 100)")
    parser.add_argument("--requests", type=int, default=200, help="requests of a round (default 200)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements (default 7)")


def run(options: argparse.Namespace) -> Report:
    """Ask one after the other; the median of all rounds counts."""
    with shared_table(options.files) as table, Connection(table.gateway.address) as connection:
        request = table.gateway.request("GET", f"{TABLE}/metadata")
        for _ in range(options.requests):
            connection.ask(request)
        cpu, wall = [], []
        asked_before = table.store.requests
        for _ in range(options.rounds):
            with spent(table.gateway.pid) as used:
                seconds = [connection.ask(request).total_seconds for _ in range(options.requests)]
            cpu.append(used.cpu_seconds / options.requests)
            wall.append(statistics.median(seconds))
        asked = table.store.requests - asked_before
        figures = {
            "cpu_seconds_per_request": statistics.median(cpu),
            "total_seconds": statistics.median(wall),
            "store_requests_per_request": asked / (options.rounds * options.requests),
            "rss_mb": rss_mb(table.gateway.pid),
            SHA256: sha256_per_cpu_second(),
        }
    return Report(figures, METADATA)
