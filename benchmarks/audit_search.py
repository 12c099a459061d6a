"""Look-ups in an audit log whose every record is a block; peer: the same without the index."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from sqlalchemy import delete
from support.audit.bulk import index_chains, write_blocks
from support.audit.records import EXAMPLE, KEYS, numbered
from support.servers.migrated import new_sqlite

from benchmarks.support.report import Figures, Report
from benchmarks.support.scale import SHA256, sha256_per_cpu_second
from sluicegate.audit.chain import START
from sluicegate.audit.reading.query import AuditQuery
from sluicegate.audit.reading.search import Before, search_page
from sluicegate.audit.records import AuditRecord
from sluicegate.database import Store
from sluicegate.database.tables import audit_index

_CHAIN = 1
_AT_ONCE = 10_000
_MAX_BLOCKS = 1_000  # as in the Admin API
_LIMIT = 100
_RARE = {"request_id": "r10", "recipient": "rare", "resource": "rare.eu"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--records", type=int, default=1_000_000, help="blocks (default 1,000,000)")
    parser.add_argument("--rounds", type=int, default=7, help="look-ups of each kind (default 7)")


def run(options: argparse.Namespace) -> Report:
    """Look up records by a name that only one of the oldest ones has."""
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as name:
        url = new_sqlite(Path(name) / "audit.db")
        figures, peer = asyncio.run(_measured(url, options.records, options.rounds))
    return Report(figures | {SHA256: sha256_per_cpu_second()}, {"without_index": peer})


async def _measured(url: str, records: int, rounds: int) -> tuple[dict[str, float], Figures]:
    store = await Store.open(url)
    try:
        last = START
        for start in range(0, records, _AT_ONCE):
            numbers = range(start, min(start + _AT_ONCE, records))
            last = await write_blocks(store, _CHAIN, ([_record(each)] for each in numbers), last)
        before = time.process_time()
        await index_chains(store, _CHAIN)
        indexed = {"index_cpu_microseconds_per_record": (time.process_time() - before) / records * 1e6}
        figures = indexed | await _look_ups(store, rounds)
        async with store.append() as connection:
            await connection.execute(delete(audit_index))
        return figures, await _look_ups(store, 1, "request_id")
    finally:
        await store.aclose()


def _record(number: int) -> AuditRecord:
    if number == 10:
        return replace(EXAMPLE, request_id="r10", actor="rare", resource="rare.eu.orders")
    return numbered(number, actor=f"recipient{number % 100}", resource=f"sales.eu.t{number % 1000}")


async def _look_ups(store: Store, rounds: int, *names: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name in names or _RARE:
        query = AuditQuery(**{name: _RARE[name]})  # type: ignore[arg-type]
        measured = [await _look_up(store, query) for _ in range(rounds)]
        figures[f"{name}_seconds"] = statistics.median(seconds for seconds, _ in measured)
        figures[f"{name}_requests"] = measured[-1][1]
    return figures


async def _look_up(store: Store, query: AuditQuery) -> tuple[float, int]:
    """Seconds of all pages of a search that finds one record, and their number."""
    started, found, pages = time.perf_counter(), 0, 0
    before: Before | None = None
    while True:
        page = await search_page(
            store, KEYS, query, limit=_LIMIT, before=before, max_blocks=_MAX_BLOCKS
        )
        found, pages = found + len(page.records), pages + 1
        before = page.before
        if before is None:
            break
    assert found == 1
    return time.perf_counter() - started, pages
