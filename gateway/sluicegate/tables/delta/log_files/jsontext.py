"""JSON text from Arrow columns, one column at a time: partition values, tags, statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

_NEEDS_ESCAPE = r'["\\\x00-\x1f]'


def dump(value: Mapping[str, Any]) -> str:
    """JSON text of one map."""
    return orjson.dumps(value).decode()


def quoted(texts: pa.Array) -> pa.Array:
    """JSON strings of a string column; null stays null."""
    special = pc.match_substring_regex(texts, _NEEDS_ESCAPE)
    plain = pc.binary_join_element_wise('"', texts, '"', "")
    if not pc.any(special).as_py():
        return plain
    escaped = [orjson.dumps(text).decode() for text in texts.filter(special).to_pylist()]
    return pc.replace_with_mask(plain, pc.fill_null(special, False), pa.array(escaped, pa.string()))


def members(names: Sequence[str], texts: Sequence[pa.Array], *, length: int) -> pa.Array:
    """JSON objects from columns of JSON texts. Nulls are omitted."""
    if not names:
        return pa.repeat("{}", length)
    # Not `null_handling="skip"`: Arrow 23 then loses the rows in which everything is null.
    parts = [
        pc.fill_null(pc.binary_join_element_wise(f",{orjson.dumps(name).decode()}:", text, ""), "")
        for name, text in zip(names, texts, strict=True)
    ]
    joined = pc.utf8_slice_codeunits(pc.binary_join_element_wise(*parts, ""), 1)
    return pc.binary_join_element_wise("{", joined, "}", "")


def map_texts(maps: pa.MapArray) -> pa.Array:
    """JSON objects of a `map<string, string>` column. A null value is a JSON null, a null map null.

    Maps that all have the same keys in the same order, as partition values do, are converted one column
    at a time, others one by one.
    """
    present = maps.drop_null()
    if not len(present):
        return pa.nulls(len(maps), pa.string())
    texts = _uniform(present)
    if texts is None:
        texts = pa.array([dump(dict(pairs)) for pairs in present.to_pylist()], pa.string())
    if not maps.null_count:
        return texts
    return pc.replace_with_mask(pa.nulls(len(maps), pa.string()), maps.is_valid(), texts)


def _uniform(maps: pa.MapArray) -> pa.Array | None:
    """The texts if all maps have the same keys in the same order, else `None`."""
    keys, items = _flat(maps)
    width, rest = divmod(len(keys), len(maps))
    first = keys.slice(0, width).to_pylist()
    if rest or len(set(first)) != width:
        return None
    values = []
    for name, own_keys, own_items in zip(first, _every(keys, width), _every(items, width), strict=True):
        if not pc.all(pc.equal(own_keys, name)).as_py():
            return None
        values.append(pc.fill_null(_quoted_distinct(own_items), "null"))
    return members(first, values, length=len(maps))


def _every(values: pa.Array, width: int) -> Iterator[pa.Array]:
    """Columns of values that are stored row by row, as many as the width of a row."""
    if width == 1:
        yield values
    elif width:
        rows = pa.FixedSizeListArray.from_arrays(values, width)
        yield from (pc.list_element(rows, column) for column in range(width))


def _flat(maps: pa.MapArray) -> tuple[pa.Array, pa.Array]:
    """Keys and items of only these maps: a slice or a filtered array can contain more."""
    start, end = maps.offsets[0].as_py(), maps.offsets[len(maps)].as_py()
    return maps.keys.slice(start, end - start), maps.items.slice(start, end - start)


def _quoted_distinct(texts: pa.Array) -> pa.Array:
    """`quoted`, computed for distinct values, because partition values repeat."""
    encoded = texts.dictionary_encode()
    return quoted(encoded.dictionary).take(encoded.indices)
