"""Compares rows that a client read into pandas with expected rows, as far as pandas can tell."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from sluicegate.cli.demo.reading import difference


def rows_in(folder: Path) -> pa.Table:
    """All rows of the Parquet files below a folder, typed as the files say."""
    return ds.dataset(sorted(folder.rglob("*.parquet")), format="parquet").to_table()


def assert_same_rows(expected: pa.Table, frame: pd.DataFrame) -> None:
    """Fail where the frame holds other rows, in whatever order, or a column of another type.

    pandas has a type of its own for nulls among numbers, and the client one for times (the files'
    unit, and no zone where the files name none), so those columns are compared by their values only.
    """
    found = difference(expected, frame)
    if found is not None:
        pytest.fail(found)
    wanted = expected.to_pandas(date_as_object=True).dtypes
    for field, column in zip(expected.schema, expected.columns, strict=True):
        if len(column) and not column.null_count and not pa.types.is_timestamp(field.type):
            assert frame.dtypes[field.name] == wanted[field.name], field.name
