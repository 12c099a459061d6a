"""A query and an Iceberg plan that leave 100 files of a table with a snapshot index.

DuckDB and deltalake find the same files, and a gateway without the index makes the same plan.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.gateways.gateway import running_gateway

from benchmarks.peers.pruning_log import PEERS, pruned_in_fresh_process
from benchmarks.support.gateway import ServedGateway, as_recipient, configure
from benchmarks.support.http import Connection
from benchmarks.support.iceberg_requests import IcebergRequests, order_filter
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import TABLE
from benchmarks.support.table import ORDER_IDS_A_FILE, SyntheticTable, partition_date
from benchmarks.support.usage import peak_rss_mb, rss_mb, spent

_LOG = "plan_from_log"
# Without the index, a table of ten million files is above the default limits.
_FOR_ALL_FILES = {"table": {"bytes": 1 << 40, "rows": 1 << 40, "time": 3600}}

_BUILD = """
import os, sys, time
from benchmarks.support.usage import peak_rss_mb
from sluicegate.cli.main import run
code = run(sys.argv[1:])
print(time.process_time(), peak_rss_mb(os.getpid()))
sys.exit(code)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=1_000_000, help="files (default 1000000)")
    parser.add_argument("--left", type=int, default=100, help="files that match (default 100)")
    parser.add_argument(
        "--changed", type=int, default=1000, help="files added later, and files removed (default 1000)"
    )
    parser.add_argument("--requests", type=int, default=20, help="requests (default 20)")
    peers = (*PEERS, _LOG)
    parser.add_argument("--peers", nargs="*", choices=peers, default=peers, help="what to compare")


def run(options: argparse.Namespace) -> Report:
    """Write a table's log, build its index, and query it; each peer finds the same files."""
    files = range(options.files // 2, options.files // 2 + options.left)
    low, high = files.start * ORDER_IDS_A_FILE, files.stop * ORDER_IDS_A_FILE
    dates = sorted({partition_date(file) for file in files})
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as name:
        folder = Path(name)
        table = folder / "lake" / "orders"
        for log_file, content in SyntheticTable(options.files).log():
            path = table / "_delta_log" / log_file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        index = {"location": f"file://{folder}/index", "min_files": 1}
        _configure(folder / "gateway", table, index=index)
        figures = {**_build(folder, table), **_query(folder, options, low, high, dates)}
        wanted = order_filter(low, high, dates)
        figures |= _plan(folder / "gateway", options, wanted)
        size = sum(file.stat().st_size for file in (folder / "index").rglob("*.parquet"))
        figures["index_mb"] = size / 1_000_000
        peers = {
            peer: pruned_in_fresh_process(peer, table, low, high, dates, options.left)
            for peer in options.peers
            if peer != _LOG
        }
        if _LOG in options.peers:
            _configure(folder / "without", table, limits=_FOR_ALL_FILES)
            peers[_LOG] = _plan(folder / "without", options, wanted)
        figures |= _build_later(folder, table, options)
    return Report({**figures, SHA256: sha256_per_cpu_second()}, peers)


def _configure(folder: Path, table: Path, **settings: Any) -> None:
    orders = {"catalog": "raw", "table": f"file://{table}"}
    configure(
        folder,
        {"sales": {"schemas": {"eu": {"tables": {"orders": orders}}}}},
        {"type": "file", "prefix": f"file://{table.parent}/"},
        cache={"answers": 0},
        **settings,
    )


def _build(folder: Path, table: Path) -> Figures:
    """Build the index with the command, in a fresh process."""
    cpu, peak, _ = _built(folder, table)
    return {"build_cpu_seconds": cpu, "build_peak_mb": peak}


def _build_later(folder: Path, table: Path, options: argparse.Namespace) -> Figures:
    """Apply a commit that adds new files and removes old ones that are next to each other."""
    first = options.files // 4
    synthetic = SyntheticTable(options.files)
    added = dict.fromkeys(range(2 * options.files, 2 * options.files + options.changed), 1_000_000)
    name, content = synthetic.commit(1, added, range(first, first + options.changed))
    (table / "_delta_log" / name).write_bytes(content)
    cpu, peak, parts = _built(folder, table)
    return {"later_cpu_seconds": cpu, "later_peak_mb": peak, "later_parts_written": parts}


def _built(folder: Path, table: Path) -> tuple[float, float, int]:
    """Build the index: CPU seconds, peak memory, and the number of written parts."""
    arguments = ["index", "build", "raw", f"file://{table}"]
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, *arguments],
        cwd=folder / "gateway",
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    *_, report, figures = done.stdout.splitlines()
    cpu, peak = figures.split()
    return float(cpu), float(peak), int(report.split()[0])


def _query(
    folder: Path, options: argparse.Namespace, low: int, high: int, dates: Sequence[str]
) -> Figures:
    with (
        running_gateway(folder / "gateway") as running,
        Connection(running.address) as connection,
    ):
        served = as_recipient(running)
        request = _request(served, low, high, dates)
        rest, seconds = rss_mb(served.pid), []
        for _ in range(options.requests + 1):
            with spent(served.pid) as used:
                answer = connection.ask(request)
            assert answer.lines == options.left + 2, f"{answer.lines} lines were answered"
            seconds.append(used.cpu_seconds)
        return {
            "cpu_seconds_per_request": statistics.median(seconds[1:]),
            "first_cpu_seconds": seconds[0],
            "peak_above_rest_mb": peak_rss_mb(served.pid) - rest,
        }


def _plan(folder: Path, options: argparse.Namespace, wanted: Mapping[str, Any]) -> Figures:
    """Plan the same scan in a fresh process."""
    with running_gateway(folder) as running:
        served = as_recipient(running)
        client = IcebergRequests(served)
        rest = rss_mb(served.pid)
        with spent(served.pid) as first:
            scan = client.scan({"filter": wanted})
        assert len(scan.tasks) == options.left, f"{len(scan.tasks)} files were planned"
        seconds = []
        with Connection(running.address) as connection:
            for _ in range(options.requests):
                with spent(served.pid) as used:
                    for request in scan.requests:
                        connection.ask(request)
                seconds.append(used.cpu_seconds)
        return {
            "plan_cpu_seconds_per_request": statistics.median(seconds),
            "first_plan_cpu_seconds": first.cpu_seconds,
            "plan_peak_above_rest_mb": peak_rss_mb(served.pid) - rest,
        }


def _request(served: ServedGateway, low: int, high: int, dates: Sequence[str]) -> bytes:
    days = ", ".join(f"DATE '{date}'" for date in dates)
    hints = [f"order_id >= {low}", f"order_id < {high}", f"date IN ({days})"]
    body = json.dumps({"predicateHints": hints}).encode()
    return served.request("POST", f"{TABLE}/query", {}, body)
