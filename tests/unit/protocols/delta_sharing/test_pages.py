"""Pages of files, in the order of their paths."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.tables.filesets import file_set

from sluicegate.protocols.delta_sharing.query.selection import page
from sluicegate.tables.snapshot import FILE_SCHEMA, FileChunk, FileSet

ONE_FILE = pa.record_batch(
    [
        pa.array(["part-0.parquet"] if field.name == "path" else [None], field.type)
        for field in FILE_SCHEMA
    ],
    schema=FILE_SCHEMA,
)


@pytest.mark.parametrize("after", [None, "part-1.parquet"])
def test_a_table_without_files_has_one_empty_page(after: str | None) -> None:
    rows, more = page(FileSet.of([]), after, 5)
    assert (rows.num_rows, rows.schema, more) == (0, FILE_SCHEMA, False)


def test_a_page_behind_the_last_file_is_empty() -> None:
    rows, more = page(FileSet.of([FileChunk.of(ONE_FILE)]), "part-1.parquet", 5)
    assert (rows.num_rows, more) == (0, False)


def test_a_page_of_files_that_are_all_hidden_is_empty() -> None:
    rows, more = page(FileSet.of([FileChunk.of(ONE_FILE)], pa.array([False])), None, 5)
    assert (rows.num_rows, more) == (0, False)


def test_pages_have_every_file_once_each_with_its_own_statistics() -> None:
    files = file_set([("{}", f'{{"numRecords":{row}}}') for row in range(5000)], chunk_rows=1700)
    seen: list[tuple[str, str]] = []
    after, more = None, True
    while more:
        rows, more = page(files, after, 999)
        seen += zip(rows.column("path").to_pylist(), rows.column("stats").to_pylist(), strict=True)
        after = seen[-1][0]
    assert seen == [(path, f'{{"numRecords":{path}}}') for path in sorted(map(str, range(5000)))]
