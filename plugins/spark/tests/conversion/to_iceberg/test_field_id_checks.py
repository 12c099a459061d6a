"""Field ids in data files are compared with those of the table, without Spark."""

from __future__ import annotations

import orjson
import pyarrow as pa
import pytest

from sluicegate.api import UnsupportedOperation
from sluicegate_spark.conversion.to_iceberg.field_id_checks import dropped_fields, ids_match
from sluicegate_spark.conversion.to_iceberg.schema import join_path


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ({"a": None, "tags": None}, True),
        ({"a": 1, "tags": 2, join_path(("tags", "element")): 3}, True),
        ({"a": 1, "gone": 8}, True),
        ({"a": 1, "tags": 2, join_path(("tags", "element")): None}, False),
        ({"a": 2}, False),
        ({"other": 1}, False),
    ],
)
def test_files_are_read_by_names_or_by_ids_and_never_by_others(
    file: dict[str, int | None], found: bool
) -> None:
    assert ids_match(file, {"a": 1, "tags": 2, join_path(("tags", "element")): 3}) is found


def footers_of(*files: dict[str, int | None]) -> pa.Table:
    return pa.table({"field_ids": [orjson.dumps(file).decode() for file in files]})


def test_fields_of_files_without_ids_are_compared_with_the_tables() -> None:
    field_ids = {"a": 1, "b": 2}
    found = footers_of({"a": None, "old": None}, {"a": 1, "gone": 9}, {"b": None})
    assert dropped_fields(found, field_ids) == {"old"}
    with pytest.raises(UnsupportedOperation, match="contain the column 'A' in a different case"):
        dropped_fields(footers_of({"A": None}), field_ids)
