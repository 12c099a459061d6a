"""Exports records in order of time."""

from __future__ import annotations

import csv
import heapq
import io
from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson

from sluicegate._util.clock import iso_utc
from sluicegate.audit.chain import AFTER, CHAIN, START, ChainPosition, parse_line
from sluicegate.audit.encoding import unpack, values_of
from sluicegate.audit.reading.query import StoredRecord, stored_record
from sluicegate.audit.reading.ranges import first_block_since
from sluicegate.audit.records import AuditRecord
from sluicegate.audit.sinks.database.reading import blocks_from
from sluicegate.audit.times import span_of, time_of
from sluicegate.database import Store

_HEADER = ("chain", "seq", *AuditRecord.__slots__, "mac")

# Spreadsheets take what starts with these characters for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


async def export_lines(
    store: Store, after: Mapping[int, ChainPosition], *, since: int | None, until: int | None
) -> AsyncIterator[bytes]:
    """The lines of all chains between two times, in order of time, so that they can be verified.

    Each chain is in its order, without a gap. A line with the position before its first record comes
    first, unless this is the first one of the chain. The times of records are only almost in order. A
    chain starts at the first record that was made at or after `since`, and ends before a block with
    only later records.
    """
    chains = [_chain_lines(store, number, end, since, until) for number, end in after.items()]
    waiting: list[tuple[int, int, bytes]] = []  # the next line of each chain, and its time
    for index, each in enumerate(chains):
        await _push(waiting, index, each, 0)
    while waiting:
        at, index, line = heapq.heappop(waiting)
        yield line
        await _push(waiting, index, chains[index], at)


async def _push(
    waiting: list[tuple[int, int, bytes]], index: int, lines: AsyncIterator[bytes], at: int
) -> None:
    """Add the next line of a chain. Lines that are no records have the time of the one before."""
    line = await anext(lines, None)
    if line is not None:
        heapq.heappush(waiting, (max(at, time_of(line) or 0), index, line))


async def _chain_lines(
    store: Store, chain: int, after: ChainPosition, since: int | None, until: int | None
) -> AsyncIterator[bytes]:
    first_seq: int | None = None
    previous = after
    if since is not None:
        start = await first_block_since(store, chain, since)
        if start is None:
            return
        first_seq, previous = start[0], start[1] or after
    has_started = False
    async for block in blocks_from(store, chain, first_seq):
        lines = unpack(block.records)
        span = span_of(lines)
        if until is not None and span is not None and span.first >= until:
            return
        for line in lines:
            if not has_started and since is not None and stored_record(line).record.at < since:
                previous = parse_line(line).position
                continue
            if not has_started and previous != START:
                yield orjson.dumps({AFTER: str(previous)} | ({CHAIN: chain} if chain else {}))
            has_started = True
            yield line


def csv_header() -> str:
    """The first line of a CSV file."""
    return _csv_line(_HEADER)


def csv_line(stored: StoredRecord) -> str:
    """A record as a line of a CSV file, without formulas."""
    record = stored.record
    values = values_of(record) | {
        "at": iso_utc(record.at),
        "issued": orjson.dumps(record.issued).decode() if record.issued else None,
        "changes": "\n".join(record.changes),
    }
    return _csv_line((stored.chain, stored.seq, *values.values(), stored.mac))


def _csv_line(values: tuple[Any, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([_cell(value) for value in values])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
