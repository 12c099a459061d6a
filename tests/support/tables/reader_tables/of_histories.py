"""Tables that deltalake writes, commit by commit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from support.tables.reader_tables.folder import expect
from support.tables.reader_tables.served import ReaderTable

VERSIONS = 5


def _rows(numbers: Sequence[int], text: str = "text") -> pa.Table:
    ids = pa.array(list(numbers), pa.int32())
    return pa.table({"col1": ids, "col2": [f"{text} {number}" for number in numbers]})


def _history(root: Path, version: int) -> None:
    """Appends, an overwrite, an append, and the same rows by another partition column."""
    location = root / "delta"
    write_deltalake(location, _rows(range(10)))
    expected = _rows(range(10))
    if version >= 1:
        write_deltalake(location, _rows(range(10, 20)), mode="append")
        expected = _rows(range(20))
    if version >= 2:
        expected = _rows(range(5), "over")
        write_deltalake(location, expected, mode="overwrite")
    if version >= 3:
        write_deltalake(location, _rows(range(20, 30)), mode="append")
        expected = pa.concat_tables([expected, _rows(range(20, 30))])
    if version >= 4:
        write_deltalake(
            location, expected, mode="overwrite", partition_by=["col2"], schema_mode="overwrite"
        )
    expect(root, expected)


def _updated(root: Path) -> None:
    location = root / "delta"
    write_deltalake(location, _rows(range(100)))
    DeltaTable(location).update(predicate="col1 < 10", updates={"col2": "'changed'"})
    changed = pa.table({"col1": pa.array(range(10), pa.int32()), "col2": ["changed"] * 10})
    expect(root, pa.concat_tables([changed, _rows(range(10, 100))]))


def _merged(root: Path) -> None:
    location = root / "delta"
    write_deltalake(location, _rows(range(100)))
    merge = DeltaTable(location).merge(
        _rows(range(50, 150), "merged"), "t.col1 = s.col1", source_alias="s", target_alias="t"
    )
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    expect(root, pa.concat_tables([_rows(range(50)), _rows(range(50, 150), "merged")]))


def _deleted_and_checkpointed(root: Path) -> None:
    location = root / "delta"
    for version in range(12):
        write_deltalake(location, _rows(range(10 * version, 10 * version + 10)), mode="append")
        if version == 10:
            DeltaTable(location).create_checkpoint()
    DeltaTable(location).delete("col1 >= 15 AND col1 < 35")
    expect(root, pa.concat_tables([_rows(range(15)), _rows(range(35, 120))]))


TABLES = {
    **{
        f"history-{version}": ReaderTable(partial(_history, version=version))
        for version in range(VERSIONS)
    },
    "history-updated": ReaderTable(_updated),
    "history-merged": ReaderTable(_merged),
    "history-deleted-and-checkpointed": ReaderTable(_deleted_and_checkpointed),
}
