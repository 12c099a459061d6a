"""Reports what recipients read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import anyio.to_thread

from sluicegate.vending.usage.models import UsageQuery
from sluicegate.vending.usage.reads.daily_table import DailyTable
from sluicegate.vending.usage.reads.models import Key, Reads, ReadsReport, ReadsRow


async def read_reads(table: DailyTable, query: UsageQuery) -> ReadsReport:
    """What recipients read; raises as `DailyTable.sums` does."""
    found, changed_at = await table.sums(query)
    return await anyio.to_thread.run_sync(_report, query, found, changed_at)


def _report(query: UsageQuery, found: Mapping[Key, Reads], changed_at: int) -> ReadsReport:
    rows = _ordered(found, query)
    kept = rows[: query.limit]
    if query.by == "day":
        kept.reverse()
    total = reduce(add, found.values(), Reads())
    return ReadsReport(query, tuple(kept), total, len(rows) > len(kept), changed_at)


def _ordered(found: Mapping[Key, Reads], query: UsageQuery) -> list[ReadsRow]:
    """The newest days first, or the largest others. Without a name comes last among equals."""
    rows = [ReadsRow(key, reads) for key, reads in found.items()]
    if query.by == "day":
        return sorted(rows, key=lambda row: int(row.key[0] or 0), reverse=True)
    return sorted(rows, key=lambda row: (-row.reads.requests, _with_none_last(row.key)))


def _with_none_last(key: Key) -> list[tuple[bool, str]]:
    return [(part is None, str(part)) for part in key]
