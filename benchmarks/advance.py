"""CPU for the first request behind a new commit on a large table, on a local S3 store."""

from __future__ import annotations

import argparse
import statistics

from benchmarks.peers.reference import METADATA
from benchmarks.support.http import Connection
from benchmarks.support.report import Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import TABLE, shared_log
from benchmarks.support.table import SyntheticTable
from benchmarks.support.usage import rss_mb, spent


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=1_000_000, help="files (default 1000000)")
    parser.add_argument("--commits", type=int, default=9, help="new commits, one a time (default 9)")
    parser.add_argument(
        "--snapshots", metavar="SIZE", default="1GB", help="`cache.snapshots` (default 1GB)"
    )


def run(options: argparse.Namespace) -> Report:
    """Load the table once, then commit and ask in turn."""
    table = SyntheticTable(options.files)
    with (
        shared_log(table.log(), {}, cache={"snapshots": options.snapshots}) as shared,
        Connection(shared.gateway.address) as connection,
    ):
        request = shared.gateway.request("GET", f"{TABLE}/metadata")
        with spent(shared.gateway.pid) as cold:
            connection.ask(request)
        wall = []
        with spent(shared.gateway.pid) as used:
            for name, content in table.next_commits(options.commits):
                shared.write(name, content)
                wall.append(connection.ask(request).total_seconds)
        figures = {
            "cpu_seconds_per_request": used.cpu_seconds / options.commits,
            "total_seconds": statistics.median(wall),
            "cold_cpu_seconds": cold.cpu_seconds,
            "rss_mb": rss_mb(shared.gateway.pid),
            SHA256: sha256_per_cpu_second(),
        }
    return Report(figures, METADATA)
