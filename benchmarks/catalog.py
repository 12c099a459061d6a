"""Metadata and listings of tables that a Unity Catalog knows, warm and cold, with its requests counted.

The catalog is the stand-in of the tests, over HTTP, in the process of the benchmark; its schema of many
tables is shared whole. Beside it stands the same table by its path.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx

from benchmarks.support.gateway import ServedGateway, gateway
from benchmarks.support.http import Connection
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.table import SyntheticTable
from benchmarks.support.usage import spent
from sluicegate_testing.servers.unity_catalog.unity import UnityServer, table_info

LISTING = "/shares/sales/schemas/whole/tables"
FIRST_PAGE = f"{LISTING}?maxResults=500"
TABLE = f"{LISTING}/orders/metadata"
BY_PATH = "/shares/sales/schemas/raw/tables/orders/metadata"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--tables", type=int, default=1000, help="of the schema (default 1000)")
    parser.add_argument("--files", type=int, default=100, help="of the table (default 100)")
    parser.add_argument("--requests", type=int, default=200, help="requests of a round (default 200)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements (default 7)")


def run(options: argparse.Namespace) -> Report:
    """Ask first when nothing is known, and then one after the other."""
    with (
        shared_schema(options.tables, options.files) as lake,
        Connection(lake.gateway.address) as connection,
    ):
        cold = {
            "cold_list_seconds": _list_seconds(connection, [lake.get(FIRST_PAGE)]),
            "cold_total_seconds": connection.ask(lake.get(TABLE)).total_seconds,
        }
        pages = lake.pages(options.tables)
        before = len(lake.unity.requests)
        ours = _measured(connection, lake, TABLE, options)
        list_seconds = [_list_seconds(connection, pages) for _ in range(options.rounds + 1)]
        asked = len(lake.unity.requests) - before
        by_path = _measured(connection, lake, BY_PATH, options)
    requests = (options.rounds + 1) * (options.requests + len(pages))
    figures = {
        **ours,
        "catalog_requests_per_request": asked / requests,
        "list_seconds": statistics.median(list_seconds[1:]),
        **cold,
        SHA256: sha256_per_cpu_second(),
    }
    return Report(figures, {"by_path": by_path})


def _measured(
    connection: Connection, lake: SharedSchema, path: str, options: argparse.Namespace
) -> Figures:
    request, cpu, wall = lake.get(path), [], []
    for _ in range(options.rounds + 1):
        with spent(lake.gateway.pid) as used:
            seconds = [connection.ask(request).total_seconds for _ in range(options.requests)]
        cpu.append(used.cpu_seconds / options.requests)
        wall.append(statistics.median(seconds))
    return {
        "cpu_seconds_per_request": statistics.median(cpu[1:]),
        "total_seconds": statistics.median(wall[1:]),
    }


def _list_seconds(connection: Connection, pages: Sequence[bytes]) -> float:
    return sum(connection.ask(page).total_seconds for page in pages)


@dataclass(frozen=True)
class SharedSchema:
    """The gateway, and the catalog behind it."""

    gateway: ServedGateway
    unity: UnityServer

    def get(self, path: str) -> bytes:
        """A request, as it goes over the wire."""
        return self.gateway.request("GET", path)

    def pages(self, tables: int) -> list[bytes]:
        """Requests for all pages of the listing."""
        paths, listed = [FIRST_PAGE], 0
        while True:
            answer = httpx.get(
                self.gateway.endpoint + paths[-1],
                headers={"authorization": f"Bearer {self.gateway.token}"},
            ).json()
            listed += len(answer["items"])
            if "nextPageToken" not in answer:
                break
            paths.append(f"{FIRST_PAGE}&pageToken={quote(answer['nextPageToken'], safe='')}")
        if listed != tables:
            raise RuntimeError(f"{listed} of {tables} tables were listed")
        return [self.get(path) for path in paths]


@contextmanager
def shared_schema(tables: int, files: int) -> Iterator[SharedSchema]:
    """Share a schema of so many tables whole, of which one has so many files, until the block ends."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluicegate-bench-")))
        location = f"file://{folder}/lake/orders"
        log = folder / "lake" / "orders" / "_delta_log"
        log.mkdir(parents=True)
        for name, content in SyntheticTable(files).log():
            (log / name).write_bytes(content)
        unity = stack.enter_context(UnityServer.start())
        unity.state.add(table_info("main.eu.orders", location, 0))
        unity.state.add(
            *(
                table_info(f"main.eu.t{number:05}", f"{location}{number}", number)
                for number in range(1, tables)
            )
        )
        shares = {
            "sales": {
                "schemas": {
                    "whole": {"from": {"catalog": "main", "schema": "eu"}},
                    "raw": {"tables": {"orders": {"catalog": "raw", "table": location}}},
                }
            }
        }
        catalogs = {
            "raw": {"type": "paths"},
            "main": {"type": "unity", "uri": unity.uri, "catalog": "main", "max_age": "10m"},
        }
        storage = {"type": "file", "prefix": f"file://{folder}/lake/"}
        served = stack.enter_context(gateway(folder / "gateway", shares, storage, catalogs=catalogs))
        yield SharedSchema(served, unity)
