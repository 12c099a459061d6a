"""Field ids in data files are compared with those of the table, without Spark."""

from __future__ import annotations

import pytest

from sluicegate.api import UnsupportedOperation
from sluicegate_spark.conversion.to_iceberg.jobs.new_files import (
    check_case,
    check_field_ids,
    fields_without_columns,
    ids_match,
)
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
    field_ids = {"a": 1, "tags": 2, join_path(("tags", "element")): 3}
    assert ids_match(file, field_ids) is found
    if found:
        check_field_ids(file, field_ids)
    else:
        with pytest.raises(UnsupportedOperation, match="field ids that differ from the table's"):
            check_field_ids(file, field_ids)


@pytest.mark.parametrize(
    ("file", "dropped"),
    [({"a": None, "old": None}, {"old"}), ({"a": 1, "gone": 9}, set()), ({"b": None}, set())],
)
def test_fields_of_files_without_ids_are_compared_with_the_tables(
    file: dict[str, int | None], dropped: set[str]
) -> None:
    assert fields_without_columns(file, {"a": 1, "b": 2}) == dropped


def test_a_field_that_differs_from_a_column_only_in_case_is_refused() -> None:
    check_case({"old"}, {"a": 1})
    with pytest.raises(UnsupportedOperation, match="contain the column 'A' in a different case"):
        check_case({"A"}, {"a": 1})
