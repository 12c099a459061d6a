"""A query of a large Iceberg table by a Delta Sharing recipient, beside PyIceberg planning a scan."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import pytest
from pyiceberg.table import Table
from support.gateways.iceberg_sharing import SCHEMA, SHARE, iceberg_sharing

from benchmarks.support.gateway import as_recipient
from benchmarks.support.http import Connection
from benchmarks.support.iceberg_table import columns, fill
from benchmarks.support.report import Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.usage import peak_rss_mb, rss_mb, spent

_CAPABILITIES = "delta-sharing-capabilities"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=10_000, help="files (default 10000)")
    parser.add_argument(
        "--format", choices=("parquet", "delta"), default="parquet", help="of the answer"
    )
    parser.add_argument("--requests", type=int, default=10, help="requests of a round (default 10)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements (default 5)")


def run(options: argparse.Namespace) -> Report:
    """The first query reads all manifests; rounds of warm ones; one right behind a new snapshot."""
    with (
        tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as folder,
        pytest.MonkeyPatch.context() as patch,
        iceberg_sharing(Path(folder), patch, {"cache": {"answers": 0}}) as lake,
    ):
        name, table = lake.table(columns().schema)
        fill(table, options.files)
        served = as_recipient(lake.gateway)
        request = served.request(
            "POST",
            f"/shares/{SHARE}/schemas/{SCHEMA}/tables/{name}/query",
            {_CAPABILITIES: f"responseformat={options.format}"},
            b"{}",
        )
        with Connection(served.address) as connection:
            rest = rss_mb(served.pid)
            with spent(served.pid) as cold:
                first = connection.ask(request)
            assert first.lines == options.files + 2, f"{first.lines} lines were answered"
            cpu, answers = [], []
            for _ in range(options.rounds):
                with spent(served.pid) as used:
                    answers += [connection.ask(request) for _ in range(options.requests)]
                cpu.append(used.cpu_seconds / options.requests)
            first_planning = _planning_seconds(table)
            planning = statistics.median(_planning_seconds(table) for _ in range(options.rounds))
            table.append(columns())
            with spent(served.pid) as behind:
                assert connection.ask(request).lines == options.files + 3
        figures = {
            "cpu_seconds_per_request": statistics.median(cpu),
            "first_byte_seconds": statistics.median(each.first_byte_seconds for each in answers),
            "total_seconds": statistics.median(each.total_seconds for each in answers),
            "rss_at_rest_mb": rest,
            "peak_above_rest_mb": round(peak_rss_mb(served.pid) - rest, 1),
            "cold_cpu_seconds": cold.cpu_seconds,
            "cpu_seconds_behind_a_snapshot": behind.cpu_seconds,
            SHA256: sha256_per_cpu_second(),
        }
    peer = {"cpu_seconds_per_request": planning, "cold_cpu_seconds": first_planning}
    return Report(figures, {"pyiceberg_plan_files": peer})


def _planning_seconds(table: Table) -> float:
    start = time.process_time()
    assert list(table.refresh().scan().plan_files())
    return time.process_time() - start
