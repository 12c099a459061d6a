"""CPU of `GET /shares` at many connections, beside a bare Starlette route in the same run."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.bare_route import PATH, bare_server
from benchmarks.peers.reference import LIST
from benchmarks.support.gateway import gateway
from benchmarks.support.http import encode
from benchmarks.support.load import ask_concurrently
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.usage import spent


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--connections", type=int, default=16, help="side by side (default 16)")
    parser.add_argument("--requests", type=int, default=5000, help="requests of a round (default 5000)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each (default 7)")


def run(options: argparse.Namespace) -> Report:
    """Measure both in turns, so that a busy moment of the machine hits both alike."""
    storage = {"type": "s3", "prefix": "s3://lake/", "region": "eu-west-1"}
    shares: dict[str, Any] = {"sales": {"schemas": {}}}
    with (
        tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as folder,
        gateway(Path(folder), shares, storage) as served,
        bare_server() as bare,
    ):
        targets = [
            _Target((served.pid,), served.address, served.request("GET", "/shares")),
            _Target(bare.pids, bare.address, encode("GET", bare.address + PATH)),
        ]
        for _ in range(options.rounds + 1):
            for target in targets:
                target.measure(options.connections, options.requests)
    ours, peer = (target.figures() for target in targets)
    scale = {SHA256: sha256_per_cpu_second()}
    return Report({**ours, **scale}, {"bare_starlette_route": peer, **LIST})


@dataclass
class _Target:
    """A server, the request that it is asked, and what was measured; the first round warms it up."""

    pids: tuple[int, ...]
    address: str
    request: bytes
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def measure(self, connections: int, requests: int) -> None:
        with spent(*self.pids) as used:
            load = ask_concurrently(
                self.address, [self.request], connections=connections, requests=requests
            )
        self.cpu.append(used.cpu_seconds / requests)
        self.wall.append(load.seconds / requests)

    def figures(self) -> Figures:
        return {
            "cpu_seconds_per_request": _warm_median(self.cpu),
            "requests_per_second": 1 / _warm_median(self.wall),
        }


def _warm_median(values: Sequence[float]) -> float:
    return statistics.median(values[1:])
