"""The first query of a new process, and of further tables, beside warm queries and `deltalake`."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.gateways.gateway import running_gateway

from benchmarks.peers.listing_deltalake import listed_in_fresh_process
from benchmarks.support.bytecode import compiled_modules
from benchmarks.support.gateway import ServedGateway, as_recipient, configure
from benchmarks.support.http import Connection
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import storage_of, write_log
from benchmarks.support.table import SyntheticTable
from benchmarks.support.usage import spent
from sluicegate_testing.servers.seaweedfs import SeaweedFS

_TABLES = 4
_WARM_REQUESTS = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=10_000, help="files of a table (default 10000)")
    parser.add_argument("--rounds", type=int, default=5, help="new processes (default 5)")


def run(options: argparse.Namespace) -> Report:
    """Query several tables with fresh gateways, each table as its first query there; medians count."""
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as name, compiled_modules():
        folder = Path(name)
        with _lake(folder, options.files) as lake:
            ours, peer = _Seconds(), _Seconds()
            for _ in range(options.rounds):
                lake.query(ours, options.files)
                peer.add(listed_in_fresh_process(lake.urls, lake.peer_options))
    figures = {**ours.figures(), SHA256: sha256_per_cpu_second()}
    return Report(figures, {"deltalake_lists_files": peer.figures()})


@dataclass
class _Seconds:
    """CPU seconds of the first table in a process, of the others, and of repetitions.

    The first repetition encodes all lines again, further ones only sign.
    """

    process: list[float] = field(default_factory=list)
    table: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)

    def add(self, seconds: Sequence[float]) -> None:
        """Add those of the tables of one process, in their order."""
        first, *others = seconds
        self.process.append(first)
        self.table += others

    def figures(self) -> Figures:
        """Medians of all rounds. Loading is the difference between the first two queries of a table."""
        figures = {
            "process_cpu_seconds": statistics.median(self.process),
            "table_cpu_seconds": statistics.median(self.table),
        }
        if not self.warm:
            return figures
        again = statistics.median(self.again)
        return {
            **figures,
            "again_cpu_seconds": again,
            "warm_cpu_seconds": statistics.median(self.warm),
            "table_loading_cpu_seconds": figures["table_cpu_seconds"] - again,
        }


@dataclass(frozen=True)
class _Lake:
    """Tables of the same size in a store, and the configuration of a gateway that shares them."""

    folder: Path
    names: Sequence[str]
    urls: Sequence[str]
    peer_options: Mapping[str, str]

    def query(self, seconds: _Seconds, files: int) -> None:
        """Query every table once, and the last one again, in a fresh gateway."""
        with (
            running_gateway(self.folder) as running,
            Connection(running.address) as connection,
        ):
            served = as_recipient(running)
            cold = [_queried(connection, served, name, files) for name in self.names]
            seconds.add(cold)
            repeated = range(1 + _WARM_REQUESTS)
            again, *warm = [_queried(connection, served, self.names[-1], files) for _ in repeated]
            seconds.again.append(again)
            seconds.warm += warm


def _queried(connection: Connection, served: ServedGateway, name: str, files: int) -> float:
    path = f"/shares/sales/schemas/eu/tables/{name}/query"
    with spent(served.pid) as used:
        answer = connection.ask(served.request("POST", path, body=b"{}"))
    assert answer.lines == files + 2, f"{answer.lines} lines were answered"
    return used.cpu_seconds


@contextmanager
def _lake(folder: Path, files: int) -> Iterator[_Lake]:
    log = dict(SyntheticTable(files).log())
    names = [f"orders{number}" for number in range(_TABLES)]
    with SeaweedFS.start(folder / "store") as store:
        for name in names:
            write_log(store, f"lake/{name}", log.items())
        storage = storage_of(store)
        urls = [f"{storage['prefix']}lake/{name}" for name in names]
        tables: dict[str, Any] = {
            name: {"catalog": "raw", "table": url} for name, url in zip(names, urls, strict=True)
        }
        gateway = folder / "gateway"
        shares = {"sales": {"schemas": {"eu": {"tables": tables}}}}
        configure(gateway, shares, storage, cache={"answers": 0})  # warm queries sign, too
        yield _Lake(gateway, names, urls, _options_of_deltalake(storage))


def _options_of_deltalake(storage: Mapping[str, str]) -> Mapping[str, str]:
    names = ("endpoint", "region", "access_key_id", "secret_access_key")
    return {"aws_allow_http": "true", **{f"aws_{name}": storage[name] for name in names}}
