from __future__ import annotations

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.tables.delta.log_files.jsontext import map_texts, members

TEXT_MAP = pa.map_(pa.string(), pa.string())
texts = st.one_of(
    st.none(), st.sampled_from(["1", "x y", 'a"b\\', "ü✓", "\n\x00\x7f", ""]), st.text(max_size=5)
)
keys = st.one_of(st.sampled_from(["p", "q", 'k"']), st.text(max_size=3))
maps = st.one_of(
    st.lists(st.one_of(st.none(), st.dictionaries(keys, texts, max_size=3))),
    # Like partition values: the same keys in every map.
    st.lists(keys, max_size=3, unique=True).flatmap(
        lambda names: st.lists(st.one_of(st.none(), st.fixed_dictionaries(dict.fromkeys(names, texts))))
    ),
)


@settings(deadline=None)
@given(maps, st.data())
def test_maps_become_the_json_that_they_are(
    rows: list[dict[str, str | None] | None], data: st.DataObject
) -> None:
    column = pa.array([None if row is None else list(row.items()) for row in rows], TEXT_MAP)
    start = data.draw(st.integers(0, len(rows)), label="slice from")
    converted = map_texts(column.slice(start)).to_pylist()
    assert [None if text is None else orjson.loads(text) for text in converted] == rows[start:]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"b": "1", "a": None}], ['{"b":"1","a":null}']),
        ([{}, {}], ["{}", "{}"]),
        ([{"a": "1"}, {}], ['{"a":"1"}', "{}"]),
        ([None], [None]),
        ([], []),
    ],
)
def test_keys_keep_the_logs_order(rows: list[dict[str, str] | None], expected: list[str]) -> None:
    column = pa.array([None if row is None else list(row.items()) for row in rows], TEXT_MAP)
    assert map_texts(column).to_pylist() == expected


def test_members_that_are_null_are_left_out_of_their_row_alone() -> None:
    columns = [pa.array(["1", None, None]), pa.array([None, None, '"x"'])]
    assert members(["a", 'b"'], columns, length=3).to_pylist() == ['{"a":1}', "{}", '{"b\\"":"x"}']
