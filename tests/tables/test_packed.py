"""Compressed columns of texts give back what they were made of, whole or in part."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.tables.filesets import file_set

from sluicegate.tables.packed import BLOCK_ROWS, PackedTexts

ROWS = 3 * BLOCK_ROWS + 7


def statistics(rows: int) -> list[str | None]:
    """As a log has them, one missing in seven; no two writers write JSON alike."""
    return [
        None if row % 7 == 3 else json.dumps({"maxValues": {"ü": row / 3}}, ensure_ascii=row % 2 == 0)
        for row in range(rows)
    ]


@pytest.mark.parametrize("rows", [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, ROWS])
def test_all_texts_come_back(rows: int) -> None:
    texts = pa.array(statistics(rows), pa.string())
    packed = PackedTexts(texts)
    assert len(packed) == rows
    assert packed.unpack().equals(texts)
    assert packed.to_pylist() == texts.to_pylist()


@pytest.mark.parametrize("texts", [["", None, ""], [None, None], ["x" * 5_000_000], ["\0", '"\\', "𝄞"]])
def test_odd_texts_come_back(texts: list[str | None]) -> None:
    assert PackedTexts(pa.array(texts, pa.string())).to_pylist() == texts


def test_a_part_of_a_column_is_packed_without_the_rest() -> None:
    texts = pa.array(statistics(ROWS), pa.string())
    assert PackedTexts(texts[5:1500]).to_pylist() == texts[5:1500].to_pylist()
    assert PackedTexts(texts[5:15]).nbytes < PackedTexts(texts).nbytes / 10


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, ROWS), st.integers(0, ROWS)), min_size=1, max_size=5))
@example([(0, ROWS), (BLOCK_ROWS, BLOCK_ROWS), (BLOCK_ROWS - 1, 2), (ROWS, 0), (0, 0)])
def test_any_parts_come_back_in_any_order(parts: list[tuple[int, int]]) -> None:
    texts = statistics(ROWS)
    reader = PackedTexts(pa.array(texts, pa.string())).reader()
    for start, rows in parts:
        rows = min(rows, ROWS - start)
        assert reader.slice(start, rows).to_pylist() == texts[start : start + rows]


def test_statistics_take_less_memory_than_half_of_their_text() -> None:
    texts = pa.array(statistics(ROWS), pa.string())
    assert PackedTexts(texts).nbytes < texts.nbytes / 2


@pytest.mark.parametrize("chunk_rows", [1, 100, BLOCK_ROWS + 1, ROWS])
@pytest.mark.parametrize("living", [1, 2, BLOCK_ROWS + 1])
def test_batches_have_the_statistics_of_their_own_files(chunk_rows: int, living: int) -> None:
    texts = statistics(ROWS)
    files = file_set([("{}", text) for text in texts], chunk_rows=chunk_rows)
    wanted = range(0, ROWS, living)
    batches = list(files.where(pa.array([row in wanted for row in range(ROWS)])).batches(256, first=64))
    read = pa.concat_tables(batches)
    assert read.column("path").to_pylist() == [str(row) for row in wanted]
    assert read.column("stats").to_pylist() == [texts[row] for row in wanted]
    assert batches[0].num_rows <= 64
    assert all(0 < batch.num_rows <= 256 for batch in batches)
