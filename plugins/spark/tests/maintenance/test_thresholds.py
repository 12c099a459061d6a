"""Thresholds decide whether a table needs a task."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from sluicegate_spark.maintenance.need.thresholds import Measured, Rows, RowThreshold, unneeded

ROWS: TypeAdapter[RowThreshold] = TypeAdapter(Rows)


@pytest.mark.parametrize(
    ("text", "rows", "total", "reached"),
    [
        ("4", 4, 40, True),
        ("5", 4, 40, False),
        ("10%", 4, 40, True),
        (" 10.1 % ", 4, 40, False),
        ("0.000001%", 0, 40, False),
        ("100%", 3, 0, True),  # rows are deleted from files without statistics
        ("1", 0, 0, False),
        ("1%", 0, 0, False),
    ],
)
def test_deleted_rows_reach_a_number_or_a_part(text: str, rows: int, total: int, reached: bool) -> None:
    assert ROWS.validate_python(text).reached_by(rows, total) is reached


@pytest.mark.parametrize("text", ["", "0", "0%", "101%", "-1", "5 percent", "1e3", "٣", "9" * 19, 5])
def test_other_texts_are_rejected(text: object) -> None:
    with pytest.raises(ValidationError):
        ROWS.validate_python(text)


def test_one_reached_threshold_is_enough() -> None:
    small = Measured("small_files", 3, 5, reached=False)
    deleted = Measured("deleted_rows", 50, RowThreshold(percent=5.0), reached=True)
    assert unneeded([small, deleted]) is None


def test_without_thresholds_a_task_is_needed() -> None:
    assert unneeded([]) is None
    assert unneeded([Measured("small_files", 0, None, reached=True)]) is None


def test_a_task_that_is_not_needed_says_what_was_found() -> None:
    small = Measured("small_files", 3, 5, reached=False)
    deleted = Measured("deleted_rows", 7, RowThreshold(percent=2.5), reached=False)
    unlimited = Measured("old_snapshots", 0, None, reached=False)
    result = unneeded([small, deleted, unlimited])
    assert result is not None
    assert result.summary == (
        "the table does not need this task yet: small_files 3 of 5, deleted_rows 7 of 2.5%"
    )
    assert result.further == {"small_files": 3, "deleted_rows": 7, "old_snapshots": 0}
