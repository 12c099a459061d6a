"""A query of a large table on a local S3 store: CPU, time to first and last byte, memory."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence

import httpx

from benchmarks.peers.reference import QUERY_10K_FILES
from benchmarks.support.http import Answer, Connection
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, plain_join_seconds, sha256_per_cpu_second
from benchmarks.support.shared_table import TABLE, SharedTable, shared_table
from benchmarks.support.usage import peak_rss_mb, rss_mb, spent

_REFERENCE_FILES = 10_000
_CAPABILITIES = "delta-sharing-capabilities"
_ENCODINGS = "accept-encoding"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=_REFERENCE_FILES, help="files (default 10000)")
    parser.add_argument(
        "--format", choices=("parquet", "delta"), default="parquet", help="of the answer"
    )
    parser.add_argument(
        "--compressed", metavar="CODING", nargs="?", const="gzip", help="of the answer (default gzip)"
    )
    parser.add_argument("--hot", action="store_true", help="the same answer again; peer: a new one")
    parser.add_argument("--requests", type=int, default=10, help="requests of a round (default 10)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements (default 5)")
    parser.add_argument("--snapshots", metavar="SIZE", help="`cache.snapshots` of the gateway")


def run(options: argparse.Namespace) -> Report:
    """The first query, which loads the table, by itself; then rounds of warm ones."""
    cache = {"snapshots": options.snapshots} if options.snapshots else {}
    if not options.hot:
        cache["answers"] = "0"
    with (
        shared_table(options.files, cache=cache) as table,
        Connection(table.gateway.address) as connection,
    ):
        pid = table.gateway.pid
        request = _request(table, options.format)
        rest = rss_mb(pid)
        with spent(pid) as cold:
            first = connection.ask(request)
        assert first.lines == options.files + 2, f"{first.lines} lines were answered"
        measured = {
            name: (_Rounds(pid, options.requests), sent)
            for name, sent in _variants(table, options).items()
        }
        for _ in range(options.rounds):
            for rounds, sent in measured.values():
                rounds.measure(connection, sent)
        reported, *others = [rounds for rounds, _ in measured.values()]
        figures = {
            **reported.figures(),
            "rss_at_rest_mb": rest,
            "rss_mb": rss_mb(pid),
            "peak_above_rest_mb": round(peak_rss_mb(pid) - rest, 1),
            "cold_cpu_seconds": cold.cpu_seconds,
            "cold_first_byte_seconds": first.first_byte_seconds,
            "cold_total_seconds": first.total_seconds,
            SHA256: sha256_per_cpu_second(),
        }
    peers = dict(zip([*measured][1:], [rounds.figures() for rounds in others], strict=True))
    return Report(figures, {**peers, **_peers(options.files)})


def _variants(table: SharedTable, options: argparse.Namespace) -> dict[str, bytes]:
    """The requests to measure, by name; the first is the one that is reported."""
    coded = _request(table, options.format, options.compressed)
    if options.hot:
        return {
            "hot": coded,
            "warm": _request(table, options.format, options.compressed, _renewing(table)),
        }
    plain = _request(table, options.format)
    return {"compressed": coded, "uncompressed": plain} if options.compressed else {"plain": plain}


def _request(table: SharedTable, form: str, coding: str | None = None, body: bytes = b"{}") -> bytes:
    headers = {_CAPABILITIES: f"responseformat={form}"}
    if coding is not None:
        headers[_ENCODINGS] = coding
    return table.gateway.request("POST", f"{TABLE}/query", headers, body)


def _renewing(table: SharedTable) -> bytes:
    """The body of a query that is always answered with new signatures."""
    answer = httpx.post(
        f"{table.gateway.endpoint}{TABLE}/query",
        headers={"authorization": f"Bearer {table.gateway.token}"},
        json={"includeRefreshToken": True},
    )
    end = json.loads(answer.raise_for_status().text.splitlines()[-1])["endStreamAction"]
    return json.dumps({"refreshToken": end["refreshToken"]}).encode()


class _Rounds:
    """Rounds of one request, which take turns with those of another."""

    def __init__(self, pid: int, requests: int) -> None:
        self._pid = pid
        self._requests = requests
        self._cpu: list[float] = []
        self._answers: list[Answer] = []

    def measure(self, connection: Connection, request: bytes) -> None:
        """Send the requests of one round."""
        with spent(self._pid) as used:
            self._answers += [connection.ask(request) for _ in range(self._requests)]
        self._cpu.append(used.cpu_seconds / self._requests)

    def figures(self) -> Figures:
        """The medians of all rounds."""
        return {
            "cpu_seconds_per_request": statistics.median(self._cpu),
            **_wall(self._answers),
            "answer_mb": self._answers[0].size / 1_000_000,
        }


def _wall(answers: Sequence[Answer]) -> Figures:
    first = statistics.median(answer.first_byte_seconds for answer in answers)
    total = statistics.median(answer.total_seconds for answer in answers)
    return {
        "first_byte_seconds": first,
        "total_seconds": total,
        "first_byte_share_of_total": first / total,
    }


def _peers(files: int) -> Mapping[str, Figures]:
    plain = {"plain_python_join": {"cpu_seconds_per_request": plain_join_seconds(files)}}
    return {**plain, **QUERY_10K_FILES} if files == _REFERENCE_FILES else plain
