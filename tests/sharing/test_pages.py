"""Pages of files, in the order of their paths."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sluicegate.sharing.pages import page
from sluicegate.tables.snapshot import FILE_SCHEMA, FileSet

ONE_FILE = pa.table(
    [
        pa.array(["part-0.parquet"] if field.name == "path" else [None], field.type)
        for field in FILE_SCHEMA
    ],
    schema=FILE_SCHEMA,
)


@pytest.mark.parametrize("after", [None, "part-1.parquet"])
def test_a_table_without_files_has_one_empty_page(after: str | None) -> None:
    rows, more = page(FileSet(FILE_SCHEMA.empty_table()), after, 5)
    assert (rows.num_rows, rows.schema, more) == (0, FILE_SCHEMA, False)


def test_a_page_behind_the_last_file_is_empty() -> None:
    rows, more = page(FileSet(ONE_FILE), "part-1.parquet", 5)
    assert (rows.num_rows, more) == (0, False)


def test_a_page_of_files_that_are_all_hidden_is_empty() -> None:
    rows, more = page(FileSet(ONE_FILE, pa.array([False])), None, 5)
    assert (rows.num_rows, more) == (0, False)
