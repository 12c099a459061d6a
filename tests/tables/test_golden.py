"""The Delta project's own reader tables."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.deltalog import DeltaFolder
from support.golden import GoldenTable, GoldenTables, golden_names, require_golden_tables
from support.snapshots import latest, paths, rows

from sluicegate.errors import NotFound, SluicegateError, TableUnreadable
from sluicegate.tables.snapshot import Snapshot

UNREADABLE: dict[str, tuple[type[SluicegateError], str]] = {
    "deltalog-invalid-protocol-version": (TableUnreadable, "reader version 99"),
    "deltalog-state-reconstruction-from-checkpoint-missing-metadata": (
        TableUnreadable,
        "no metadata action",
    ),
    "deltalog-state-reconstruction-without-metadata": (TableUnreadable, "no metadata action"),
    "deltalog-state-reconstruction-without-protocol": (TableUnreadable, "no protocol action"),
    "hive": (NotFound, "no Delta table"),
    "no-delta-log-folder": (NotFound, "no Delta table"),
}
FILE_LISTS = {
    "canonicalized-paths-normal-a": [],
    "canonicalized-paths-normal-b": [],
    "canonicalized-paths-special-a": [],
    "checkpoint": ["15"],
    "deltalog-commit-info": ["abc"],
    "update-deleted-directory": ["1", "10", "2", "3", "4", "5", "6", "7", "8", "9"],
}
READABLE = [name for name in golden_names() if name not in UNREADABLE]
# deltalake takes `/a` and `file:/a` for two files, and refuses metadata without a schema.
NO_ORACLE = frozenset(FILE_LISTS) - {"checkpoint"}


async def load(golden: GoldenTables, name: str) -> tuple[GoldenTable, Snapshot]:
    table = golden.table(name)
    return table, await latest(DeltaFolder(table.location))


def test_the_golden_tables_are_at_hand() -> None:
    require_golden_tables()
    assert set(UNREADABLE) | set(FILE_LISTS) <= set(golden_names())


@pytest.mark.parametrize("name", UNREADABLE)
async def test_what_must_fail_fails_saying_why(golden: GoldenTables, name: str) -> None:
    kind, message = UNREADABLE[name]
    with pytest.raises(kind, match=message):
        await load(golden, name)


@pytest.mark.parametrize("name", FILE_LISTS)
async def test_stand_in_files_are_listed(golden: GoldenTables, name: str) -> None:
    _, snapshot = await load(golden, name)
    assert paths(snapshot) == FILE_LISTS[name]


@pytest.mark.parametrize("name", READABLE)
async def test_the_files_hold_the_expected_rows(golden: GoldenTables, name: str) -> None:
    table, snapshot = await load(golden, name)
    if table.expected is None:
        assert name in FILE_LISTS
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
async def test_deltalake_lists_the_same_files(golden: GoldenTables, name: str) -> None:
    table, snapshot = await load(golden, name)
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
