"""Copies the ledger to the table of offers, page by page and exactly once.

The position is in the table: the newest offer that it has. Entries of the two days before it are read
again, because a response that is still being sent grows, and because an entry can be stored late.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from sluicegate.api import IssuedAccess, TaskRun, session_names
from sluicegate_spark.engine import TaskSession
from sluicegate_spark.usage.tables import OFFERS, UsageTables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE: Final = 50_000
_DAY_MS: Final = 86_400_000
_REPEATED: Final = 2 * _DAY_MS
_TEXT, _TEXTS, _TIME = pa.string(), pa.list_(pa.string()), pa.timestamp("ms", "UTC")
_TYPES: Final = {"at": _TIME, "issued_at": _TIME, "expires_at": _TIME, "files": pa.int64()}
_SCHEMA: Final = pa.schema(
    [("event_id", _TEXT), ("day", pa.date32())]
    + [(name, _TYPES.get(name, _TEXT)) for name in ("at", "issued_at", "expires_at", "kind")]
    + [(name, _TEXT) for name in ("recipient_id", "recipient", "share", "schema", "table", "asset")]
    + [("locations", _TEXTS), ("sessions", _TEXTS), ("files", pa.int64())]
    + [("address", _TEXT), ("request_id", _TEXT)]
)


async def copy_offers(session: TaskSession, tables: UsageTables, run: TaskRun, page: int = PAGE) -> int:
    """Add the entries of the ledger that are new or have grown.

    Returns:
        The number of entries that were read.
    """
    newest = await session.run(partial(_newest, tables))
    count = 0
    async for entries in _pages(run, max(0, newest - _REPEATED), page):
        await session.run(partial(_insert, tables, _table(entries)))
        count += len(entries)
    return count


async def _pages(run: TaskRun, since: int, page: int) -> AsyncIterator[Sequence[IssuedAccess]]:
    after: tuple[int, str] | None = None
    while entries := await run.issued_access(since, after, page):
        yield entries
        after = entries[-1].given_at, entries[-1].id


def _newest(tables: UsageTables, spark: SparkSession) -> int:
    (row,) = spark.table(tables.name("offers")).selectExpr("unix_millis(max(at))").collect()
    return int(row[0] or 0)


def _insert(tables: UsageTables, rows: pa.Table, spark: SparkSession) -> None:
    days = rows.column("day").unique().to_pylist()
    tables.insert_or_grow(spark.createDataFrame(rows, OFFERS), days)


def _table(entries: Sequence[IssuedAccess]) -> pa.Table:
    return pa.Table.from_pylist([_row(each) for each in entries], _SCHEMA)


def _row(entry: IssuedAccess) -> dict[str, Any]:
    locations = [_canonical(location) for location in entry.locations]
    return {
        **asdict(entry),
        "event_id": entry.id,
        "day": entry.given_at // _DAY_MS,
        "at": entry.given_at,
        "locations": locations,
        "sessions": session_names(entry.recipient),
    }


def _canonical(location: str) -> str:
    """Return a directory in the form of the directories of reads: `s3://bucket/path`."""
    scheme, separator, rest = location.partition("://")
    return f"{'s3' if scheme in ('s3a', 's3n') else scheme}{separator}{rest.rstrip('/')}"
