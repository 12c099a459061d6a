"""`GET /shares` of gateways with 1, 2, 4 and 8 processes, with the audit log (the default) and without.

All gateways of a database run side by side and are measured in turns. Each has its own database: a file
of SQLite, or a database of one PostgreSQL server, which waits for the disk as by its defaults.
`far` is PostgreSQL behind a proxy that delays what it forwards in each direction. There, each gateway
process has a fixed number of connections, as where a load balancer divides clients among replicas.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.gateways.gateway import running_gateway
from support.servers.migrated import new_sqlite
from support.servers.postgres import PostgresServer, running_postgres

from benchmarks.support.distant import distant
from benchmarks.support.gateway import as_recipient, configure
from benchmarks.support.report import Figures, Report
from benchmarks.support.request_mix import MeasuredServer, MixedRequest, measured_gateway
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.usage import spent

_DATABASES = ("sqlite", "postgresql", "far")
_COUNTS = (1, 2, 4, 8)
_FAR = (1, 4)
_DELAY = 0.003  # seconds in each direction
_WORDS = {1: "one", 2: "two", 4: "four", 8: "eight"}
_KEY = "a signing key of this benchmark, long enough"
_STORAGE = {"type": "s3", "prefix": "s3://lake/", "region": "eu-west-1"}
_SETTINGS = """
ALTER SYSTEM SET max_connections = 400;
ALTER SYSTEM RESET fsync;
ALTER SYSTEM RESET full_page_writes;
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument(
        "--database", nargs="+", choices=_DATABASES, default=_DATABASES, help="which (default all)"
    )
    parser.add_argument(
        "--processes",
        nargs="+",
        type=int,
        choices=_COUNTS,
        default=_COUNTS,
        help="of gateways; 1 is always measured (default all)",
    )
    parser.add_argument("--connections", type=int, default=64, help="to each gateway (default 64)")
    parser.add_argument(
        "--far-connections", type=int, default=8, help="of `far`, to each process (default 8)"
    )
    parser.add_argument("--requests", type=int, default=4000, help="requests of a round (default 4000)")
    parser.add_argument(
        "--far-requests", type=int, default=400, help="of `far`, for each process (default 400)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each (default 5)")


def run(options: argparse.Namespace) -> Report:
    """Measure one database after the other, and its gateways in turns."""
    figures: dict[str, float] = {}
    for name in options.database:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluicegate-bench-")))
            figures |= _measured(name, folder, stack, options)
    return Report({**figures, SHA256: sha256_per_cpu_second()})


def _measured(name: str, folder: Path, stack: ExitStack, options: argparse.Namespace) -> Figures:
    databases = stack.enter_context(_databases(name, folder))
    counts = _FAR if name == "far" else sorted({1, *options.processes})
    gateways = [
        _Gateway.started(stack, folder / f"{count}-{has_log}", count, has_log, databases.new_url())
        for count in counts
        for has_log in (True, False)
    ]
    proxy = 0.0
    for number in range(options.rounds + 1):
        for each in gateways:
            with spent(*databases.proxies) as used:
                each.measure(options, is_far=name == "far")
            proxy += used.cpu_seconds if number else 0
    figures = dict(_figures(name, gateways))
    if databases.proxies:
        requests = options.rounds * options.far_requests * sum(each.processes for each in gateways)
        figures["far_proxy_cpu_seconds_per_request"] = proxy / requests
    return figures


@dataclass(frozen=True)
class _Databases:
    """A server with a database for each gateway, and the processes in front of it."""

    new_url: Callable[[], str]
    proxies: Sequence[int] = ()


@contextmanager
def _databases(name: str, folder: Path) -> Iterator[_Databases]:
    if name == "sqlite":
        files = (folder / f"{number}.db" for number in count())
        yield _Databases(lambda: new_sqlite(next(files)))
        return
    with running_postgres() as server:
        _configure(server)
        if name == "postgresql":
            yield _Databases(server.new_migrated_database)
            return
        directory = parse_qs(urlsplit(server.new_database()).query)["host"][0]
        with distant(f"{directory}/.s.PGSQL.5432", _DELAY) as proxy:

            def new_url() -> str:
                database = urlsplit(server.new_migrated_database()).path
                return f"postgresql://postgres@127.0.0.1:{proxy.port}{database}"

            yield _Databases(new_url, (proxy.pid,))


def _configure(server: PostgresServer) -> None:
    """Undo what tests don't need, and allow the connections of all gateways."""
    psql = [str(server.program("psql")), "--quiet", server.new_database()]
    subprocess.run(psql, input=_SETTINGS.encode(), check=True)
    with server.stopped():
        pass


@dataclass(frozen=True)
class _Gateway:
    """A gateway, and what was measured."""

    processes: int
    has_log: bool
    server: MeasuredServer

    @classmethod
    def started(
        cls, stack: ExitStack, folder: Path, processes: int, has_log: bool, database: str
    ) -> _Gateway:
        settings: dict[str, Any] = {"database": database, "signing_key": _KEY} | (
            {} if has_log else {"audit": "off"}
        )
        configure(folder, {"sales": {"schemas": {}}}, _STORAGE, **settings)
        running = stack.enter_context(running_gateway(folder, processes=processes))
        listing = MixedRequest(as_recipient(running).request("GET", "/shares"), b'"sales"')
        server = measured_gateway(running.process.pid, running.address, [listing])
        return cls(processes, has_log, server)

    def measure(self, options: argparse.Namespace, *, is_far: bool) -> None:
        if is_far:
            times = self.processes
            self.server.measure(options.far_connections * times, options.far_requests * times)
        else:
            self.server.measure(options.connections, options.requests)


def _figures(database: str, gateways: Sequence[_Gateway]) -> Figures:
    """Rates and CPU seconds of each gateway, and the medians of each round's ratios."""
    figures: dict[str, float] = {}
    for each in gateways:
        suffix = f"_{database}{'' if each.has_log else '_without_log'}"
        name = _WORDS[each.processes] + suffix
        measured = each.server.figures()
        figures[f"{name}_requests_per_second"] = measured["requests_per_second"]
        figures[f"{name}_cpu_seconds_per_request"] = measured["cpu_seconds_per_request"]
    rates = {(each.processes, each.has_log): each.server.rates[1:] for each in gateways}
    for more in sorted({each.processes for each in gateways} - {1}):
        name = "far_scaling" if database == "far" else f"{_WORDS[more]}_by_one_{database}"
        with_log, without = (_ratios(rates[more, log], rates[1, log]) for log in (True, False))
        figures[name] = statistics.median(with_log)
        figures[f"{name}_without_log"] = statistics.median(without)
        figures[f"{name}_kept"] = statistics.median(_ratios(with_log, without))
    return figures


def _ratios(some: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(some, others, strict=True)]
