"""Values read from buffers are those that Arrow itself gives."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.protocols.columns import encoded_texts, integers, texts

Chunks = list[list[Any]]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.text("ab", max_size=5)
INTEGER = st.integers(-(2**63), 2**63 - 1)
CUT = st.tuples(st.integers(0, 4), st.integers(0, 8))


def chunked(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Chunks]:
    return st.lists(st.lists(values, max_size=6), max_size=3)


def column(chunks: Chunks, kind: pa.DataType, cut: tuple[int, int] = (0, 100)) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind).slice(*cut)


@given(chunked(TEXT) | chunked(TEXT | st.none()), CUT)
def test_texts_of_any_chunks_and_slices(chunks: Chunks, cut: tuple[int, int]) -> None:
    values = column(chunks, pa.string(), cut)
    assert texts(values) == values.to_pylist()


@given(chunked(TEXT), CUT)
def test_encoded_texts_of_any_chunks_and_slices(chunks: Chunks, cut: tuple[int, int]) -> None:
    values = column(chunks, pa.string(), cut)
    assert encoded_texts(values) == [text.encode() for text in values.to_pylist()]


@given(chunked(TEXT) | chunked(TEXT | st.none()), CUT)
def test_texts_of_dictionaries(chunks: Chunks, cut: tuple[int, int]) -> None:
    values = column(chunks, pa.dictionary(pa.int32(), pa.string()), cut)
    assert texts(values) == values.to_pylist()


def test_texts_of_a_dictionary_that_contains_null() -> None:
    values = pa.chunked_array([pa.DictionaryArray.from_arrays([0, 1, 0], pa.array([None, "a"]))])
    assert texts(values) == [None, "a", None]


@given(chunked(INTEGER) | chunked(INTEGER | st.none()), CUT)
def test_integers_of_any_chunks_and_slices(chunks: Chunks, cut: tuple[int, int]) -> None:
    values = column(chunks, pa.int64(), cut)
    assert integers(values) == values.to_pylist()


@pytest.mark.parametrize("kept", [[], [0], [1, 3], [0, 1, 2, 3]])
def test_rows_left_by_a_filter(kept: list[int]) -> None:
    table = pa.table({"text": ["a", "", "ü", "bc"], "number": [1, 2, 3, 4]})
    rows = table.filter(pa.array([row in kept for row in range(4)]))
    assert texts(rows.column("text")) == [["a", "", "ü", "bc"][row] for row in kept]
    assert integers(rows.column("number")) == [row + 1 for row in kept]


def test_null_within_a_dictionary() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a", None]))
    assert texts(pa.chunked_array([values])) == ["a", None]
