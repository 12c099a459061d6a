"""Every reader table: the suite's own, and the Delta project's where they are at hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables.deltalog import DeltaFolder
from support.tables.reader_tables.served import Unreadable
from support.tables.reader_tables.tables import ReaderTables, WrittenTable, served_tables
from support.tables.snapshots import latest, paths, rows

from sluicegate.api.errors import NotFound, TableUnreadable
from sluicegate.tables.snapshot import Snapshot

SERVED = served_tables()
UNREADABLE = {name: served.unreadable for name, served in SERVED.items() if served.unreadable}
STAND_INS = {name: served.stand_ins for name, served in SERVED.items() if served.stand_ins is not None}
READABLE = [name for name in SERVED if name not in UNREADABLE]
# deltalake takes `/a` and `file:/a` for two files, and refuses metadata without a schema.
# It does not read all forms of partition values.
NO_ORACLE = {
    *(set(STAND_INS) - {"checkpoint", "checkpoint-and-many-commits", "path-escaped"}),
    "partitions-in-other-forms",
}


async def load(tables: ReaderTables, name: str) -> tuple[WrittenTable, Snapshot]:
    table = tables.table(name)
    return table, await latest(DeltaFolder(table.location))


@pytest.mark.parametrize(("name", "answer"), UNREADABLE.items())
async def test_what_must_fail_fails_saying_why(
    tables: ReaderTables, name: str, answer: Unreadable
) -> None:
    kind = TableUnreadable if answer.status == 400 else NotFound
    with pytest.raises(kind, match=answer.message):
        await load(tables, name)


@pytest.mark.parametrize(("name", "files"), STAND_INS.items())
async def test_stand_in_files_are_listed(tables: ReaderTables, name: str, files: Sequence[str]) -> None:
    _, snapshot = await load(tables, name)
    assert paths(snapshot) == sorted(files)


@pytest.mark.parametrize("name", READABLE)
async def test_the_files_hold_the_expected_rows(tables: ReaderTables, name: str) -> None:
    table, snapshot = await load(tables, name)
    if table.expected is None or name in STAND_INS:
        assert name in STAND_INS
        return
    expected = pq.read_table(table.expected, coerce_int96_timestamp_unit="us")
    files = rows(snapshot)
    for row in files:
        assert (table.location / row["path"]).stat().st_size == row["size"]
    deleted = sum((row["deletion_vector"] or {}).get("cardinality", 0) for row in files)
    data = [
        pq.ParquetFile(table.location / row["path"], coerce_int96_timestamp_unit="us").read()
        for row in files
    ]
    assert sum(part.num_rows for part in data) - deleted == expected.num_rows
    if data and not deleted:
        shared = [
            column for column in expected.column_names if all(column in p.column_names for p in data)
        ]
        assert values(data, shared) == values([expected], shared)


@pytest.mark.parametrize("name", sorted(set(READABLE) - NO_ORACLE))
async def test_deltalake_lists_the_same_files(tables: ReaderTables, name: str) -> None:
    table, snapshot = await load(tables, name)
    oracle = deltalake.DeltaTable(table.location)
    assert snapshot.version == oracle.version()
    assert snapshot.metadata.id == str(oracle.metadata().id)
    listed = pa.table(oracle.get_add_actions())
    assert sorted(map(unquote, listed.column("path").to_pylist())) == paths(snapshot)


def values(parts: list[pa.Table], columns: list[str]) -> Counter[str]:
    """Rows as a multiset; timestamps as plain microseconds, as files disagree on the zone."""
    return Counter(str(plain(row)) for part in parts for row in part.select(columns).to_pylist())


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value
