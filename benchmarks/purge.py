"""Purges an Iceberg table on Spark, beside a bare loop of batched deletions, on a local S3 store.

The time of a purge is that from the lease of its task to its end: it reads manifests, sorts the files
on Spark, lists which of them exist, so that it counts what it really deletes, and deletes them. Spark
is running already. The benchmark also calculates how long purges of large tables take on clusters, by
the executor's own rule for waves; there, the peer `ideal` is the time for the deletions alone.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import obstore
from support.tasks.purge_model import ideal_seconds, rate_of_task, seconds_by_rule

from benchmarks.support.purged_table import Purges, write_files
from benchmarks.support.report import Figures, Report
from sluicegate_spark.purge.deletion import BATCH
from sluicegate_spark.purge.wave_rule import Cluster
from sluicegate_testing.servers.seaweedfs import SeaweedFS

_SIZES = (10**6, 10**7, 10**8, 10**9)
_CORES = (8, 64, 512)
_FEW = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=100_000, help="of a table (default 100000)")
    parser.add_argument("--rounds", type=int, default=2, help="measurements (default 2)")
    parser.add_argument("--cores", type=int, default=2, help="of the local Spark (default 2)")
    parser.add_argument(
        "--rate", type=int, default=1_575, help="of a Spark task in the calculation (default 1575)"
    )
    parser.add_argument(
        "--prefixes", type=int, default=100, help="of the store in the calculation (default 100)"
    )


def run(options: argparse.Namespace) -> Report:
    """Both take turns, so that neither has the quieter minutes."""
    ours, bare = asyncio.run(_measured(options))
    rates = {"files_per_second": options.files / ours, "share_of_bare_loop": bare / ours}
    by_rule, ideal = _calculated(options.rate, options.prefixes)
    peers = {"bare_loop": {"files_per_second": options.files / bare}, "ideal": ideal}
    return Report({**rates, **by_rule}, peers)


async def _measured(options: argparse.Namespace) -> tuple[float, float]:
    """Return the median seconds of a purge, and those of the bare loop."""
    ours, bare = [], []
    with (
        tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as directory,
        SeaweedFS.start(Path(directory)) as server,
    ):
        purges = Purges(server, Path(directory), options.cores)
        try:
            await purges.purge(purges.task("first", _FEW))  # starts Spark
            for number in range(options.rounds):
                # The store is busy for some time after it has received files.
                keys = write_files(server, f"bare-{number}", options.files)
                task = purges.task(f"ours{number}", options.files)
                if number % 2:
                    ours.append(await purges.purge(task))
                bare.append(_looped(server, keys))
                if not number % 2:
                    ours.append(await purges.purge(task))
        finally:
            await purges.aclose()
    return statistics.median(ours), statistics.median(bare)


def _looped(server: SeaweedFS, keys: list[str]) -> float:
    store, began = server.store(), time.monotonic()
    for start in range(0, len(keys), BATCH):
        obstore.delete(store, keys[start : start + BATCH])
    return time.monotonic() - began


def _calculated(rate: int, prefixes: int) -> tuple[Figures, Figures]:
    """Return seconds by the rule for waves, and those of cores that only delete."""
    by_rule, ideal = {}, {}
    for files in _SIZES:
        for cores in _CORES:
            name = f"seconds_{files:.0e}_files_{cores}_cores".replace("e+0", "e")
            each = rate_of_task(rate, cores, prefixes)
            by_rule[name] = seconds_by_rule(files, Cluster(cores), each)
            ideal[name] = ideal_seconds(files, cores, each)
    return by_rule, ideal
