"""A query with a predicate that leaves few of many files on a local S3 store: CPU, wall time."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence

from benchmarks.peers.reference import PREDICATE
from benchmarks.support.http import Connection
from benchmarks.support.report import Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.shared_table import TABLE, SharedTable, shared_table
from benchmarks.support.table import ORDER_IDS_A_FILE, partition_date
from benchmarks.support.usage import rss_mb, spent

_REFERENCE_FILES = 10_000
_CAPABILITIES = "delta-sharing-capabilities"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=_REFERENCE_FILES, help="files (default 10000)")
    parser.add_argument("--left", type=int, default=28, help="files that match (default 28)")
    parser.add_argument("--hint", choices=("json", "sql"), default="json", help="how it is written")
    parser.add_argument(
        "--format", choices=("parquet", "delta"), default="parquet", help="of the answer"
    )
    parser.add_argument("--requests", type=int, default=50, help="requests of a round (default 50)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements (default 5)")
    parser.add_argument("--snapshots", metavar="SIZE", help="`cache.snapshots` of the gateway")


def run(options: argparse.Namespace) -> Report:
    """One query without a hint loads the table; the first with it reads bounds; then warm ones."""
    cache = {"answers": "0", **({"snapshots": options.snapshots} if options.snapshots else {})}
    with (
        shared_table(options.files, cache=cache) as table,
        Connection(table.gateway.address) as connection,
    ):
        pid, request = table.gateway.pid, _request(table, options)
        connection.ask(table.gateway.request("GET", f"{TABLE}/metadata"))
        loaded = rss_mb(pid)
        with spent(pid) as cold:
            first = connection.ask(request)
        assert first.lines == options.left + 2, f"{first.lines} lines were answered"
        cpu, answers = [], []
        for _ in range(options.rounds):
            with spent(pid) as used:
                answers += [connection.ask(request) for _ in range(options.requests)]
            cpu.append(used.cpu_seconds / options.requests)
        figures = {
            "cpu_seconds_per_request": statistics.median(cpu),
            "first_byte_seconds": statistics.median(each.first_byte_seconds for each in answers),
            "total_seconds": statistics.median(each.total_seconds for each in answers),
            "first_cpu_seconds": cold.cpu_seconds,
            "first_total_seconds": first.total_seconds,
            "rss_before_mb": loaded,
            "rss_mb": rss_mb(pid),
            SHA256: sha256_per_cpu_second(),
        }
    return Report(figures, PREDICATE if options.files == _REFERENCE_FILES else {})


def _request(table: SharedTable, options: argparse.Namespace) -> bytes:
    """A range of order ids in the middle of the table, and the dates that they have there.

    The partitions prove something of most files, the bounds of `order_id` of the others.
    """
    files = range(options.files // 2, options.files // 2 + options.left)
    low, high = files.start * ORDER_IDS_A_FILE, files.stop * ORDER_IDS_A_FILE
    dates = sorted({partition_date(file) for file in files})
    hints = _SPELLINGS[options.hint](low, high, dates)
    headers = {_CAPABILITIES: f"responseformat={options.format}"}
    return table.gateway.request("POST", f"{TABLE}/query", headers, json.dumps(hints).encode())


def _sql(low: int, high: int, dates: Sequence[str]) -> dict[str, object]:
    days = ", ".join(f"DATE '{date}'" for date in dates)
    return {"predicateHints": [f"order_id >= {low}", f"order_id < {high}", f"date IN ({days})"]}


def _json(low: int, high: int, dates: Sequence[str]) -> dict[str, object]:
    days = [_compared("equal", "date", "date", date) for date in dates]
    terms = [
        _compared("greaterThanOrEqual", "order_id", "long", str(low)),
        _compared("lessThan", "order_id", "long", str(high)),
        {"op": "or", "children": days} if len(days) > 1 else days[0],
    ]
    return {"jsonPredicateHints": json.dumps({"op": "and", "children": terms})}


def _compared(op: str, name: str, kind: str, value: str) -> dict[str, object]:
    column = {"op": "column", "name": name, "valueType": kind}
    return {"op": op, "children": [column, {"op": "literal", "value": value, "valueType": kind}]}


_SPELLINGS = {"json": _json, "sql": _sql}
