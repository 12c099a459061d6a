"""Position delete files: readers of Parquet accept them, and their sizes are known first."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence

import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from sluicegate.api import TableUnreadable
from sluicegate.tables.iceberg.position_deletes import file_size, position_delete_file
from sluicegate.tables.iceberg.roaring import positions

PATH = "s3://sluicegate/7-1000-proof/day=2024-01-01/\u00e4.parquet"
MAGIC = struct.pack("<I", 1681511377)
ROWS: list[Sequence[int]] = [
    [0],
    [5, 7, 900],
    range(100),
    range(0, 300_000, 2),  # bitsets
    range(70_000),
    [1, 65_536, 2**33, 2**33 + 5],
    [*range(10), *range(65_536, 65_546), *range(131_072, 131_082), *range(196_608, 196_618)],
]


def vector(rows: Sequence[int], *, runs: bool) -> bytes:
    made = BitMap64(rows)
    if runs:
        made.run_optimize()
    return MAGIC + bytes(made.serialize())


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("rows", ROWS, ids=len)
def test_a_file_has_the_rows_of_a_vector(rows: Sequence[int], runs: bool) -> None:
    content = position_delete_file(PATH, positions(vector(rows, runs=runs), len(rows)))
    assert len(content) == file_size(PATH, len(rows))
    found = pq.read_table(io.BytesIO(content))
    assert found.column("pos").to_pylist() == list(rows)
    assert set(found.column("file_path").to_pylist()) == {PATH}
    ids = [field.metadata[b"PARQUET:field_id"] for field in found.schema]
    assert ids == [b"2147483546", b"2147483545"]


@pytest.mark.parametrize("cardinality", [1, 2, 4])
def test_another_number_of_rows_is_an_error(cardinality: int) -> None:
    with pytest.raises(TableUnreadable, match="damaged"):
        positions(vector([1, 2, 3], runs=False), cardinality)


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("rows", ROWS[1:4], ids=len)
def test_damaged_vectors_are_errors(rows: Sequence[int], runs: bool) -> None:
    whole = vector(rows, runs=runs)
    for size in {*range(4, min(len(whole), 60)), len(whole) - 1}:
        with pytest.raises(TableUnreadable, match="damaged"):
            positions(whole[:size], len(rows))
    wrong = whole[:16] + b"\0\0" + whole[18:]
    with pytest.raises(TableUnreadable, match="damaged"):
        positions(wrong, len(rows))
