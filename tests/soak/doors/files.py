"""The files that queries and feeds of changes name: read by their URLs, and compared."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from soak.tables import ChangingTable
from soak.visitor import Visitor

READ = "files by URL"
# The gateway may read a table as it was before: its catalog's answers are kept for 2 + 10 seconds,
# those of raw paths and answers to equal queries for longer.
STALE_SECONDS = 90.0


def file_of(line: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The URL of a file and the values of its partition, in both formats."""
    for kind in ("file", "add", "cdf", "remove"):
        if (found := line.get(kind)) is None:
            continue
        if (action := found.get("deltaSingleAction")) is not None:
            found = next(iter(action.values()))
        return found.get("url") or found["path"], found["partitionValues"]
    return None


async def rows_of_lines(visitor: Visitor, lines: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The rows of all files that lines name."""
    found = [file for line in lines if (file := file_of(line)) is not None]
    return joined([await read_file(visitor, *file) for file in found])


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of any number of tables."""
    none = pa.table({"id": pa.array([], pa.int64())})
    return pa.concat_tables([none, *tables], promote_options="default")


async def read_file(
    visitor: Visitor, url: str, partition: Mapping[str, Any], needs: frozenset[str] = frozenset()
) -> pa.Table:
    """The rows of a file, with the values of its partition as further columns."""
    response = await visitor.get(READ, url, token="", needs=needs)
    rows = pq.read_table(io.BytesIO(response.content))
    for name, value in partition.items():
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.array([value] * rows.num_rows, pa.string()))
    return rows


async def check_rows(
    visitor: Visitor,
    door: str,
    table: ChangingTable,
    lines: Sequence[Mapping[str, Any]],
    version: int | None,
    since: float,
) -> None:
    """Compare the rows of an answer with those of the table."""
    rows = await rows_of_lines(visitor, lines)
    visitor.wrong(door, table.wrong(rows, version, since, STALE_SECONDS))
