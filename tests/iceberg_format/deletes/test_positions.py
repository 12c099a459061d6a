"""Vectors of files of positions: the same bytes whenever and of whichever files they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64
from support.process.random_cases import cases

from sluicegate.api import TableUnreadable
from sluicegate_iceberg.format.deletes.delete_files import DeleteFile, deletes_among
from sluicegate_iceberg.format.deletes.positions import positions_by_file, row_set, rows_in
from sluicegate_iceberg.format.deletes.recipes import (
    PositionDeletes,
    StoredVector,
    parse_recipe,
    recipe_text,
)
from sluicegate_iceberg.format.deletes.vectors import cardinality_of, payload_of
from sluicegate_iceberg.format.manifests.manifest_files import Entry

BLOCK = 1 << 16
# Runs, dense and sparse blocks: each kind of container, and what lies on their borders.
ROWS = st.lists(
    st.one_of(
        st.integers(0, 4 * BLOCK).map(lambda row: range(row, row + 1)),
        st.builds(
            lambda start, size: range(start, start + size), st.integers(0, BLOCK), st.integers(0, 9_000)
        ),
        st.builds(lambda start: range(start, start + 3 * BLOCK, 7), st.integers(0, BLOCK)),
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=cases(50))
@given(ROWS, st.randoms(use_true_random=False))
def test_a_vector_is_the_same_whatever_files_tell_it(parts: Sequence[range], dice: Any) -> None:
    whole = sorted({row for part in parts for row in part})
    shuffled = list(parts)
    dice.shuffle(shuffled)
    together = BitMap64()
    for part in shuffled:
        together |= row_set(pa.array(part, pa.int64()))
    payload = payload_of(together)
    assert payload == payload_of(row_set(pa.array(whole, pa.int64())))
    assert cardinality_of(payload) == len(whole)


def test_the_rows_of_one_file_are_found_among_those_of_others() -> None:
    table = pa.table(
        {
            "file_path": ["a", "a", "b", "b", "b", "c"],
            "pos": pa.array([0, 5, 1, 2, 1 << 40, 9], pa.int64()),
        }
    )
    data = parquet(table)
    assert list(rows_in(data, "b")) == [1, 2, 1 << 40]
    assert list(rows_in(data, "d")) == []
    grouped = positions_by_file(data).to_pydict()
    for path, rows in zip(grouped["file_path"], grouped["pos_list"], strict=True):
        assert list(rows_in(data, path)) == sorted(rows)


def test_a_slice_of_positions_is_that_slice() -> None:
    assert list(row_set(pa.array(range(10), pa.int64()).slice(3, 4))) == [3, 4, 5, 6]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        pa.table({"pos": pa.array([1], pa.int64())}),
        pa.table({"file_path": ["a"], "pos": ["1"]}),
        pa.table({"file_path": ["a"], "pos": pa.array([None], pa.int64())}),
    ],
    ids=["empty", "cut", "no paths", "texts", "nulls"],
)
def test_a_broken_file_is_reported(data: bytes | pa.Table) -> None:
    broken = data if isinstance(data, bytes) else parquet(data)
    with pytest.raises(TableUnreadable, match="delete file"):
        positions_by_file(broken)
    with pytest.raises(TableUnreadable, match="delete file"):
        rows_in(broken, "a")


@pytest.mark.parametrize(
    ("told", "named", "not_named"),
    [
        ({}, ["", "z"], []),
        ({"referenced_data_file": "b"}, ["b"], ["a", "ba", "c"]),
        ({"lower_bounds": "b", "upper_bounds": "d"}, ["b", "c", "d"], ["a", "da", "é"]),
        ({"lower_bounds": "b"}, ["b", "z", "é"], ["a"]),
        ({"upper_bounds": "b"}, ["", "b"], ["ba"]),
    ],
)
def test_what_a_file_may_name_is_in_its_manifest(
    told: dict[str, str], named: list[str], not_named: list[str]
) -> None:
    file = positions(told)
    assert [name for name in (*named, *not_named) if file.may_name(name)] == named


@pytest.mark.parametrize(
    "recipe", [StoredVector("s3://a/b c", 4, 70_000), PositionDeletes("l", "é", 7)]
)
def test_recipes_are_read_as_they_were_written(recipe: StoredVector | PositionDeletes) -> None:
    assert parse_recipe(recipe_text(recipe)) == recipe


@pytest.mark.parametrize("text", ["", "x", "{}", "[]", "1", '["other"]', '["vector", "a"]', "[[]]"])
def test_recipes_of_other_releases_are_reported(text: str) -> None:
    with pytest.raises(TableUnreadable, match="release"):
        parse_recipe(text)


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=2)
    return bytes(sink.getvalue())


def positions(told: dict[str, str]) -> DeleteFile:
    """A file of positions, of whose paths a manifest tells something."""
    bounds = {
        name: [{"key": 2147483546, "value": value.encode()}] if name.endswith("bounds") else value
        for name, value in told.items()
    }
    entry = Entry(1, None, {"content": 1, "file_format": "PARQUET", "file_path": "p", **bounds})
    (file,) = deletes_among([entry], None)
    return file
