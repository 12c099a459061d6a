"""Compares the rows that a client read into pandas with the rows of a table.

Differences that pandas cannot represent are ignored: the order of rows, null versus NaN, and the width
of integer columns that have nulls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd


def difference(expected: pa.Table, frame: pd.DataFrame) -> str | None:
    """Describe the first difference between a frame and the expected rows, or return `None`."""
    if list(frame.columns) != expected.column_names:
        return f"the columns are {list(frame.columns)} instead of {expected.column_names}"
    if len(frame) != expected.num_rows:
        return f"there are {len(frame)} rows instead of {expected.num_rows}"
    try:
        found = pa.Table.from_pandas(frame, expected.schema, preserve_index=False)
    except pa.ArrowException as error:
        return f"a column has values that its type doesn't allow: {error}"
    wanted, read = _counts(expected), _counts(found)
    if wanted == read:
        return None
    missing, added = (next(iter(rows)) for rows in (wanted - read, read - wanted))
    return f"a row is {added} instead of {missing}"


def _counts(table: pa.Table) -> Counter[Hashable]:
    columns = [
        [_comparable(value, column.type) for value in column.to_pylist()] for column in table.columns
    ]
    return Counter(zip(*columns, strict=True))


def _comparable(value: Any, kind: pa.DataType) -> Hashable:
    """A hashable form of a value. Two values of a type are equal if and only if their forms are."""
    if value is None or value != value:
        return None
    if pa.types.is_struct(kind):
        return tuple(_comparable(value[field.name], field.type) for field in kind.fields)
    if pa.types.is_map(kind):
        pairs = ((_comparable(key, kind.key_type), item) for key, item in value)
        return frozenset((key, _comparable(item, kind.item_type)) for key, item in pairs)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return tuple(_comparable(item, kind.value_type) for item in value)
    hashable: Hashable = value
    return hashable
