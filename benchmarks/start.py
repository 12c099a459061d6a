"""From the start of the process to its first answer, and the memory that it then holds."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import psutil
from support.gateways.gateway import running_gateway

from benchmarks.peers.reference import START
from benchmarks.support.gateway import as_recipient, configure
from benchmarks.support.http import Connection, encode
from benchmarks.support.report import Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.usage import rss_mb

_SETTLE_SECONDS = 3.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--rounds", type=int, default=5, help="measurements (default 5)")


def run(options: argparse.Namespace) -> Report:
    """Start a gateway with the plugins `paths` and `s3` again and again; medians count."""
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as name:
        folder = Path(name)
        storage = {"type": "s3", "prefix": "s3://lake/", "region": "eu-west-1"}
        configure(folder, {"sales": {"schemas": {}}}, storage)
        with running_gateway(folder) as running:
            token = as_recipient(running).token
        ready, cpu, rss = zip(*(_once(folder, token) for _ in range(options.rounds)), strict=True)
    figures = {
        "ready_seconds": statistics.median(ready),
        "ready_cpu_seconds": statistics.median(cpu),
        "rss_mb": statistics.median(rss),
        SHA256: sha256_per_cpu_second(),
    }
    return Report(figures, START)


def _once(folder: Path, token: str) -> tuple[float, float, float]:
    """Seconds and CPU seconds to the first answer, and the memory after all start-up work has ended."""
    began = time.perf_counter()
    with running_gateway(folder) as running, Connection(running.address) as connection:
        connection.ask(
            encode("GET", f"{running.endpoint}/shares", {"authorization": f"Bearer {token}"})
        )
        ready = time.perf_counter() - began
        times = psutil.Process(running.process.pid).cpu_times()
        time.sleep(_SETTLE_SECONDS)
        return ready, times.user + times.system, rss_mb(running.process.pid)
