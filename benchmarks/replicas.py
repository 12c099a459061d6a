"""How many replicas one database serves: measured with few processes, and simulated with many.

Commits of the audit log are what all replicas send to the database. The benchmark measures what a
commit costs PostgreSQL, and what a listing costs a gateway, and simulates many processes with these
figures.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from support.audit.records import KEYS, numbered
from support.gateways.gateway import running_gateway
from support.servers.postgres import running_postgres

from benchmarks.support.gateway import as_recipient, configure
from benchmarks.support.load import ask_concurrently
from benchmarks.support.report import Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.usage import spent
from sluicegate.audit.assembly import _database_sink
from sluicegate.audit.encoding import encode
from sluicegate.audit.own_records import LogEntry
from sluicegate.audit.sinks.database.postgresql import PostgresqlTransactions
from sluicegate.audit.sinks.database.sink import DatabaseSink
from sluicegate.audit.sinks.sink import Sink
from sluicegate.database import Store

_STORAGE = {"type": "s3", "prefix": "s3://lake/", "region": "eu-west-1"}
_CLIENTS = 8  # of each process
_DATABASE_CORES = 16
_PROCESSES = (80, 800, 8_000)
_DISTANCE = 0.001


@dataclass(frozen=True)
class Costs:
    """Seconds of CPU time, and of waiting.

    Attributes:
        distance: Seconds from a gateway to the database and back.
    """

    request: float
    commit: float
    distance: float


@dataclass(frozen=True)
class Estimate:
    """What a simulation has counted.

    Attributes:
        requests_per_second: Of all processes.
        seconds_per_request: Mean time of a response.
    """

    requests_per_second: float
    database_busy: float
    gateway_busy: float
    seconds_per_request: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--writers", type=int, default=4, help="chains side by side (default 4)")
    parser.add_argument("--commits", type=int, default=2000, help="of each writer (default 2000)")
    parser.add_argument("--requests", type=int, default=6000, help="listings (default 6000)")


def run(options: argparse.Namespace) -> Report:
    """Measure, and simulate."""
    with running_postgres() as server:
        url = server.new_migrated_database()
        commit = asyncio.run(_commit(url, options.writers, options.commits))
    request = _request(options.requests)
    figures: dict[str, float] = {"commit_cpu_seconds": commit, "request_cpu_seconds": request}
    costs = Costs(request=request, commit=commit, distance=_DISTANCE)
    for processes in _PROCESSES:
        estimate = simulate(
            costs, processes=processes, clients=_CLIENTS, database_cores=_DATABASE_CORES
        )
        name = f"simulated_{processes}"
        figures[f"{name}_requests_per_second"] = round(estimate.requests_per_second)
        figures[f"{name}_database_busy"] = estimate.database_busy
        figures[f"{name}_gateway_busy"] = estimate.gateway_busy
        figures[f"{name}_seconds_per_request"] = estimate.seconds_per_request
    return Report({**figures, SHA256: sha256_per_cpu_second()})


async def _commit(url: str, writers: int, commits: int) -> float:
    """CPU seconds of the database for each commit of as many records as a process has clients."""
    store = await Store.open(url)
    records = [numbered(number) for number in range(_CLIENTS)]
    entries = [LogEntry(encode(record), record.at) for record in records]
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.aclose)
        sinks = [_database_sink(KEYS, store) for _ in range(writers)]
        for sink in sinks:
            stack.push_async_callback(sink.aclose)
            await sink.append(entries)
        with spent(*[await _backend(sink) for sink in sinks]) as used:
            await asyncio.gather(*(_write(sink, entries, commits) for sink in sinks))
    return used.cpu_seconds / (writers * commits)


async def _write(sink: Sink, entries: Sequence[LogEntry], commits: int) -> None:
    for _ in range(commits):
        await sink.append(entries)


async def _backend(sink: Sink) -> int:
    """The id of the process of PostgreSQL that serves the connection of a sink."""
    assert isinstance(sink, DatabaseSink)
    transactions = sink._transactions
    assert isinstance(transactions, PostgresqlTransactions)
    connection = await transactions._connected()
    return int(await connection.fetchval("SELECT pg_backend_pid()"))


def _request(requests: int) -> float:
    """CPU seconds of a process for each listing, with the audit log."""
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as name:
        folder = Path(name) / "gateway"
        configure(folder, {"sales": {"schemas": {}}}, _STORAGE)
        with running_gateway(folder) as running:
            served = as_recipient(running)
            listing = [served.request("GET", "/shares")]
            ask_concurrently(served.address, listing, connections=_CLIENTS, requests=requests // 4)
            with spent(running.process.pid) as used:
                ask_concurrently(served.address, listing, connections=_CLIENTS, requests=requests)
        return used.cpu_seconds / requests


def simulate(
    costs: Costs, *, processes: int, clients: int, database_cores: int, commits: int = 200
) -> Estimate:
    """Simulate processes that have a core each, until each has made so many commits on average.

    Each client sends the next request when it has its response. A process serves those of all its
    clients, and then commits their records together, as the writer of the audit log does. The database
    serves commits in the order in which they arrive, each on one core.
    """
    cores = [0.0] * database_cores
    serving = clients * costs.request
    # Processes start at different times: otherwise, they would commit in step.
    arrivals = [(serving * (each + 1) / processes, each) for each in range(processes)]
    heapq.heapify(arrivals)
    total = processes * commits
    waited = end = 0.0
    for _ in range(total):
        at, process = heapq.heappop(arrivals)
        start = max(at + costs.distance / 2, heapq.heappop(cores))
        done = start + costs.commit
        heapq.heappush(cores, done)
        back = done + costs.distance / 2
        waited += back - at
        end = max(end, back)
        heapq.heappush(arrivals, (back + serving, process))
    cycle = waited / total + serving
    return Estimate(
        requests_per_second=total * clients / end,
        database_busy=total * costs.commit / (end * database_cores),
        gateway_busy=total * serving / (end * processes),
        seconds_per_request=cycle,
    )
