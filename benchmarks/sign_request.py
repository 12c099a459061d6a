"""Requests of Iceberg clients to sign, for tables of two sizes, beside a bare server that signs."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

import orjson

from benchmarks.peers.bare_route import bare_server
from benchmarks.peers.remote_signing import CONSTANT, HEADERS
from benchmarks.support.gateway import ServedGateway
from benchmarks.support.http import encode
from benchmarks.support.iceberg_requests import IcebergRequests
from benchmarks.support.load import ask_concurrently, bodies
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import shared_table
from benchmarks.support.usage import spent

_MOST_PATHS = 1000
# What Iceberg's Java library sends for a read of a file.
_HEADERS = {
    "User-Agent": ["s3fileio aws-sdk-java/2.33.0 md/io#sync md/http#Apache ua/2.1 os/Linux"],
    "amz-sdk-invocation-id": ["9f3c1c9a-0c7e-4a2f-a3e1-6c8f0f6f5b11"],
    "amz-sdk-request": ["attempt=1; max=6"],
    "Range": ["bytes=0-"],
    "x-amz-checksum-mode": ["ENABLED"],
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=10_000, help="files (default 10000)")
    parser.add_argument(
        "--many-files", type=int, default=1_000_000, help="files of the other table (default 1000000)"
    )
    parser.add_argument("--connections", type=int, default=16, help="side by side (default 16)")
    parser.add_argument("--requests", type=int, default=2000, help="requests of a round (default 2000)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each (default 7)")


def run(options: argparse.Namespace) -> Report:
    """Measure all in turns, so that a busy moment of the machine hits all alike."""
    load = options.connections, options.requests
    with (
        shared_table(options.files) as some,
        shared_table(options.many_files) as many,
        bare_server() as bare,
    ):
        requests = _sign_requests(some.gateway)
        ours = _Target(some.gateway.pid, some.gateway.address, requests)
        million = _Target(many.gateway.pid, many.gateway.address, _sign_requests(many.gateway))
        sent = [body.partition(b"\r\n\r\n")[2] for body in requests]
        peers = {
            name: _Target(bare.pids[0], bare.address, _posts(bare.address + path, sent))
            for name, path in (
                ("bare_starlette_route", CONSTANT),
                ("headers_signed_by_botocore", HEADERS),
            )
        }
        for _ in range(options.rounds + 1):
            for target in (ours, million, *peers.values()):
                target.measure(*load)
    figures = {
        "cpu_seconds_per_request": ours.cpu_seconds,
        "million_files_cpu_seconds_per_request": million.cpu_seconds,
        "requests_per_second": ours.requests_per_second,
        SHA256: sha256_per_cpu_second(),
    }
    others: dict[str, Figures] = {
        name: {
            "cpu_seconds_per_request": peer.cpu_seconds,
            "requests_per_second": peer.requests_per_second,
        }
        for name, peer in peers.items()
    }
    return Report(figures, others)


@dataclass
class _Target:
    """A server, the requests that it is asked, and what was measured; the first round warms it up."""

    pid: int
    address: str
    requests: Sequence[bytes]
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def measure(self, connections: int, requests: int) -> None:
        with spent(self.pid) as used:
            load = ask_concurrently(
                self.address, self.requests, connections=connections, requests=requests
            )
        self.cpu.append(used.cpu_seconds / requests)
        self.wall.append(load.seconds / requests)

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of a request."""
        return statistics.median(self.cpu[1:])

    @property
    def requests_per_second(self) -> float:
        return 1 / statistics.median(self.wall[1:])


def _sign_requests(served: ServedGateway) -> list[bytes]:
    """A request to sign for each of many files of the table, which the gateway is asked to plan."""
    client = IcebergRequests(served)
    config = client.get(headers={"X-Iceberg-Access-Delegation": "remote-signing"})["config"]
    tasks = client.scan({}, enough=_MOST_PATHS).tasks[:_MOST_PATHS]
    paths = [task["data-file"]["file-path"] for task in tasks]
    sent = (
        {
            "region": config["client.region"],
            "uri": f"{config['s3.endpoint']}/{quote(path.removeprefix('s3://'), safe='/~')}",
            "method": "GET",
            "headers": _HEADERS,
            "provider": "s3",
        }
        for path in paths
    )
    requests = [client.post("/sign", body) for body in sent]
    (signed,) = bodies(served.address, requests[:1])
    assert urlsplit(orjson.loads(signed)["uri"]).query
    return requests


def _posts(url: str, sent: Sequence[bytes]) -> list[bytes]:
    headers = {"content-type": "application/json"}
    return [encode("POST", url, headers, body) for body in sent]
