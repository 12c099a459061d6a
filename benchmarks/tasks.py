"""Delegated tasks on PostgreSQL, in a table with a million ended ones, beside a bare queue."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial

import asyncpg
from support.servers.postgres import PostgresServer, running_postgres

from benchmarks.peers import bare_queue
from benchmarks.support import task_queue, task_table
from benchmarks.support.processes import Work, rate
from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from sluicegate.database import Store

_TASKS_A_REALM = 16


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--ended", type=int, default=1_000_000, help="ended tasks (default 1000000)")
    parser.add_argument("--tasks", type=int, default=4000, help="handed over (default 4000)")
    parser.add_argument(
        "--crowd", type=int, default=100_000, help="of a realm at its limit (default 100000)"
    )
    parser.add_argument("--workers", type=int, default=8, help="processes (default 8)")


def run(options: argparse.Namespace) -> Report:
    """Both queues begin with as many ended tasks, and neither runs while the other is measured."""
    with running_postgres() as server:
        ours, bare = asyncio.run(_prepared(server, options))
        figures = asyncio.run(task_table.sizes(ours, options.ended))
        each = options.tasks // options.workers
        realms = max(1, each // _TASKS_A_REALM)

        def measured(name: str, work: Work, url: str = ours) -> Figures:
            done = rate(work, url, options.workers)
            return {f"{name}_per_second": done.per_second, f"{name}_cpu_seconds": done.cpu_seconds}

        figures |= measured("submitted", partial(task_queue.submit, count=each, realms=realms))
        figures["lease_query_ms"] = asyncio.run(task_table.lease_query(ours))
        figures |= measured("acquired", task_queue.acquire)
        figures |= measured("heartbeats", task_queue.beat)
        rate(partial(task_queue.submit, count=each, realms=1), ours, options.workers)
        figures |= measured("acquired_of_one_realm", task_queue.acquire)
        asyncio.run(task_table.crowd(ours, options.crowd, task_queue.FULL))
        rate(partial(task_queue.submit, count=each, realms=realms + 1), ours, options.workers)
        figures |= measured("acquired_beside_full_realm", task_queue.acquire)
        figures["pruned_per_second"] = asyncio.run(task_queue.prune(ours))
        peer = dict(measured("submitted", partial(bare_queue.submit, tasks=each), bare))
        peer |= measured("acquired", bare_queue.acquire, bare)
        peer |= measured("heartbeats", partial(bare_queue.beat, of=options.workers), bare)
        peer["pruned_per_second"] = asyncio.run(bare_queue.prune(bare))
    return Report(figures | {SHA256: sha256_per_cpu_second()}, {"bare_queue": peer})


async def _prepared(server: PostgresServer, options: argparse.Namespace) -> tuple[str, str]:
    ours, bare = server.new_database(), server.new_database()
    await (await Store.open(ours)).aclose()
    await task_table.fill(ours, options.ended)
    connection = await asyncpg.connect(bare)
    await connection.execute(bare_queue.CREATE)
    await connection.execute(bare_queue.FILL, options.ended, timeout=600)
    await connection.execute("VACUUM ANALYZE bare_tasks", timeout=600)
    await connection.execute("CHECKPOINT", timeout=600)
    await connection.close()
    return ours, bare
