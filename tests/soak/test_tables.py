"""Rows that are not those of a table are found."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from soak.tables import ChangingTable, DeltaWritten, rows_of


@pytest.fixture
def table(tmp_path: Path) -> ChangingTable:
    """A table with six states; the fifth replaced the rows of the ones before."""
    made = ChangingTable(("share", "schema", "table"), frozenset(), DeltaWritten(str(tmp_path)))
    for number in range(6):
        made.commit(number * 100.0)
    return made


def test_every_version_that_was_written_has_its_rows(table: ChangingTable, tmp_path: Path) -> None:
    for version in range(6):
        rows = pa.table(DeltaTable(str(tmp_path), version=version).to_pyarrow_table())
        assert table.wrong(rows, version, 0, 0) is None
    assert len(table.state(3)) > len(table.state(4))


def test_wrong_rows_are_found(table: ChangingTable) -> None:
    right = sorted(table.state(5))
    cases: dict[str, tuple[pa.Table, int | None]] = {
        "1 rows lack": (rows_of(right[1:]), 5),
        "1 are too many": (rows_of([*right, 10_000]), 5),
        "there is no version 6": (rows_of(right), 6),
        "1 rows were read twice": (rows_of([*right, right[0]]), 5),
        "those of no state": (rows_of(right[1:]), None),
    }
    for message, (rows, version) in cases.items():
        assert message in (table.wrong(rows, version, 500, 90) or "")
    values = rows_of(right).set_column(2, "value", pa.array([0] * len(right)))
    assert "must be" in (table.wrong(values, 5, 500, 90) or "")


def test_old_rows_are_right_for_a_while(table: ChangingTable) -> None:
    rows = rows_of(table.state(4))
    assert table.wrong(rows, None, 580, 90) is None
    assert "were replaced 95 s before" in (table.wrong(rows, None, 595, 90) or "")
    assert table.wrong(rows_of(table.state(5)), None, 10_000, 90) is None


def test_a_table_without_known_versions_is_compared_with_all_states(table: ChangingTable) -> None:
    table.versioned = False
    assert table.wrong(rows_of(table.state(5)), 3, 500, 90) is None
