"""Server-side plans of an Iceberg client, of all files and by a filter; PyIceberg plans the same."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from support.gateways.memory_gateway import KEYS

from benchmarks.peers.pyiceberg_plan import planning_seconds
from benchmarks.support.iceberg_plan import synthetic_view, tasks_in
from benchmarks.support.report import Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from benchmarks.support.table import ORDER_IDS_A_FILE, partition_date
from sluicegate.protocols.iceberg_rest.planning.planner import ScanPlanner
from sluicegate.protocols.iceberg_rest.planning.request import PlanRequest
from sluicegate.protocols.iceberg_rest.planning.tokens import PlanTokens
from sluicegate.protocols.iceberg_rest.view import IcebergView
from sluicegate.signing.opaque_tokens import TokenSigner
from sluicegate.tables.reading.reader import TableReader

Plan = Callable[[bytes], Awaitable[bytes]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--files", type=int, default=10_000, help="files (default 10000)")
    parser.add_argument("--left", type=int, default=28, help="files that match (default 28)")
    parser.add_argument("--requests", type=int, default=10, help="requests of a round (default 10)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements (default 5)")


def run(options: argparse.Namespace) -> Report:
    """The steps from the body of a request to that of its response, in this process."""
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> Report:
    view = await synthetic_view(options.files)
    plan = _planner(view)
    everything, some = b"{}", orjson.dumps({"filter": _filter(options)})
    first_start = time.process_time()
    left = tasks_in(await plan(some))
    first = time.process_time() - first_start
    assert left == options.left, f"{left} files were planned"
    everyone, filtered = planning_seconds(options.files, options.left, options.rounds)
    figures = {
        "cpu_seconds_per_request": await _cpu_seconds(plan, everything, options),
        "predicate_cpu_seconds_per_request": await _cpu_seconds(plan, some, options),
        "first_predicate_cpu_seconds": first,
        SHA256: sha256_per_cpu_second(),
    }
    peer = {
        "cpu_seconds_per_request": everyone,
        "predicate_cpu_seconds_per_request": filtered,
    }
    return Report(figures, {"pyiceberg_plan_files": peer})


def _planner(view: IcebergView) -> Plan:
    planner = ScanPlanner(TableReader({}, 0), PlanTokens(TokenSigner(KEYS, 3600)), {})

    async def plan(body: bytes) -> bytes:
        parts = await planner.plan(view, PlanRequest.parse(body))
        return b"".join([part async for part in parts])

    return plan


async def _cpu_seconds(plan: Plan, body: bytes, options: argparse.Namespace) -> float:
    rounds: list[float] = []
    for _ in range(options.rounds):
        start = time.process_time()
        for _ in range(options.requests):
            await plan(body)
        rounds.append((time.process_time() - start) / options.requests)
    return statistics.median(rounds)


def _filter(options: argparse.Namespace) -> dict[str, Any]:
    """A range of order ids in the middle of the table, and the dates that they have there."""
    files = range(options.files // 2, options.files // 2 + options.left)
    low, high = files.start * ORDER_IDS_A_FILE, files.stop * ORDER_IDS_A_FILE
    dates = sorted({partition_date(file) for file in files})
    ids = {
        "type": "and",
        "left": {"type": "gt-eq", "term": "order_id", "value": low},
        "right": {"type": "lt", "term": "order_id", "value": high},
    }
    return {"type": "and", "left": ids, "right": {"type": "in", "term": "date", "values": dates}}
