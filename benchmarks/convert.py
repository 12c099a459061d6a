"""Converts a Delta table of many files to Iceberg on a cluster, and measures the driver.

The driver is this process and the JVM of Spark's driver. Executors run in other processes, on a
standalone cluster of two workers. The Iceberg table contains all files of the Delta table already. The
first conversion compares all of them, because it can't tell what the Iceberg table contains, and the
next one is incremental: it reads the commits since then. Spark is running for the incremental one. The
peer reads both tables in one process, as a comparison without a cluster does.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.support.report import Figures, Report
from benchmarks.support.usage import cpu_seconds, peak_rss_mb, spent

if TYPE_CHECKING:
    from benchmarks.support.converted_table import Conversions
    from sluicegate_testing.servers.seaweedfs import SeaweedFS


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=1_000_000, help="of the table (default 1000000)")
    parser.add_argument("--commits", type=int, default=3, help="since a conversion (default 3)")
    parser.add_argument(
        "--changed", type=int, default=20, help="files that each commit adds and removes (default 20)"
    )


def run(options: argparse.Namespace) -> Report:
    """Write both tables, convert twice, and compare them in one process."""
    from support.gateways.iceberg_rest import WAREHOUSE
    from support.servers.spark_cluster import standalone_cluster

    from benchmarks.peers.converting import compared_in_fresh_process
    from benchmarks.support.converted_table import NAME, NAMESPACE, create_table, location_of
    from sluicegate_testing.servers.seaweedfs import SeaweedFS

    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as directory:
        folder = Path(directory)
        with SeaweedFS.start(folder / "store", warehouse=WAREHOUSE) as server:
            written = multiprocessing.get_context("spawn").Process(
                target=create_table, args=(_without_process(server), folder, options.files)
            )
            written.start()
            written.join()
            if written.exitcode:
                raise RuntimeError("the tables were not written")
            with standalone_cluster(folder / "cluster") as master:
                figures = asyncio.run(_measured(options, server, folder, master))
            _commit(options, server, range(2 + options.commits, 2 + 2 * options.commits))
            peer = compared_in_fresh_process(
                location_of(server), _of_store(server), _of_catalog(server), f"{NAMESPACE}.{NAME}"
            )
    return Report(figures, {"one_process": peer})


async def _measured(
    options: argparse.Namespace, server: SeaweedFS, folder: Path, master: str
) -> Figures:
    from benchmarks.support.converted_table import Conversions

    conversions = Conversions(server, folder, master)
    try:
        _commit(options, server, range(1, 2))
        began = time.process_time()
        await _convert(conversions, options.changed)
        full = time.process_time() - began + cpu_seconds(_driver_pid())
        _commit(options, server, range(2, 2 + options.commits))
        pids = (os.getpid(), _driver_pid())
        began = time.monotonic()
        with spent(*pids) as incremental:
            await _convert(conversions, options.commits * options.changed)
        return {
            "driver_cpu_seconds": incremental.cpu_seconds,
            "driver_rss_mb": sum(map(peak_rss_mb, pids)),
            "seconds": time.monotonic() - began,
            "full_driver_cpu_seconds": full,
        }
    finally:
        await conversions.aclose()


async def _convert(conversions: Conversions, changed: int) -> None:
    further = (await conversions.convert()).further
    if (further["files_added"], further["files_removed"]) != (changed, changed):
        raise RuntimeError(f"{changed} files were added and removed, and not {further}")


def _commit(options: argparse.Namespace, server: SeaweedFS, numbers: range) -> None:
    from benchmarks.support.converted_table import commit
    from benchmarks.support.table import SyntheticTable

    for number in numbers:
        commit(server, SyntheticTable(options.files), number, options.changed)


def _without_process(server: SeaweedFS) -> SeaweedFS:
    """What another process needs of the server, and can be sent to it."""
    nothing: Any = None
    return replace(server, process=nothing)


def _driver_pid() -> int:
    """The JVM of Spark's driver."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    return int(gateway.proc.pid)


def _of_store(server: SeaweedFS) -> dict[str, str]:
    """How deltalake opens the store."""
    return {
        "endpoint": server.endpoint,
        "region": server.region,
        "access_key_id": server.admin.access_key_id,
        "secret_access_key": server.admin.secret_access_key,
        "allow_http": "true",
        "virtual_hosted_style_request": "false",
    }


def _of_catalog(server: SeaweedFS) -> dict[str, str]:
    """How PyIceberg opens the catalog, and reads from the store with its own credentials."""
    from support.gateways.iceberg_rest import WAREHOUSE
    from support.tables.purged_tables import config_of

    admin = server.admin
    return {
        **config_of(server),
        "uri": server.iceberg_uri,
        "warehouse": WAREHOUSE,
        "credential": f"{admin.access_key_id}:{admin.secret_access_key}",
        "oauth2-server-uri": f"{server.iceberg_uri}/v1/oauth/tokens",
        "header.X-Iceberg-Access-Delegation": "none",
    }
