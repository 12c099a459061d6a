"""CPU of temporary credentials that are given again, beside new ones, on a local S3 store with STS."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.support.counting import CountingProxy, counting_proxy
from benchmarks.support.gateway import ServedGateway, gateway
from benchmarks.support.http import Connection
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.usage import rss_mb, spent
from sluicegate_testing.servers.seaweedfs import SeaweedFS

_TABLES = "/shares/sales/schemas/eu/tables"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--tables", type=int, default=100, help="asked for anew (default 100)")
    parser.add_argument("--requests", type=int, default=500, help="requests of a round (default 500)")
    parser.add_argument("--rounds", type=int, default=7, help="warm measurements (default 7)")


def run(options: argparse.Namespace) -> Report:
    """Each table is asked for once, which is cold, and then one of them again and again."""
    with _vending(options.tables) as served, Connection(served.gateway.address) as connection:
        requests = [served.request(number) for number in range(options.tables)]
        first, *others = requests
        connection.ask(first)  # loads what the first request needs
        cold = _measured(served, connection, others)
        warm = [
            _measured(served, connection, [first] * options.requests) for _ in range(options.rounds)
        ]
        figures = {name: statistics.median(measured[name] for measured in warm) for name in warm[0]} | {
            "rss_mb": rss_mb(served.gateway.pid),
            SHA256: sha256_per_cpu_second(),
        }
    return Report(figures, {"new_credentials": cold})


@dataclass(frozen=True)
class _Vending:
    """A gateway, and the token service that its requests go to."""

    gateway: ServedGateway
    tokens: CountingProxy

    def request(self, table: int) -> bytes:
        return self.gateway.request("POST", f"{_TABLES}/t{table}/temporary-table-credentials")


def _measured(served: _Vending, connection: Connection, requests: Sequence[bytes]) -> Figures:
    asked_before = served.tokens.requests
    with spent(served.gateway.pid) as used:
        seconds = [connection.ask(request).total_seconds for request in requests]
    return {
        "cpu_seconds_per_request": used.cpu_seconds / len(requests),
        "total_seconds": statistics.median(seconds),
        "sts_calls_per_request": (served.tokens.requests - asked_before) / len(requests),
    }


@contextmanager
def _vending(tables: int) -> Iterator[_Vending]:
    """Share so many tables by directory access; their logs are never read, so there are none."""
    with (
        tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as directory,
        SeaweedFS.start(Path(directory) / "store") as store,
        counting_proxy(store.endpoint) as tokens,
    ):
        storage = {
            "type": "s3",
            "prefix": f"s3://{store.bucket}/",
            "endpoint": store.endpoint,
            "region": store.region,
            "access_key_id": store.signer.access_key_id,
            "secret_access_key": store.signer.secret_access_key,
            "sts_endpoint": tokens.endpoint,
            "vending": {"role_arn": store.role_arn},
        }
        shared = {
            f"t{number}": {
                "catalog": "raw",
                "table": f"s3://{store.bucket}/t{number}",
                "history": True,
                "access_modes": ["dir"],
            }
            for number in range(tables)
        }
        shares = {"sales": {"schemas": {"eu": {"tables": shared}}}}
        with gateway(Path(directory) / "gateway", shares, storage) as served:
            yield _Vending(served, tokens)
