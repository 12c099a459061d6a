"""Rows of changed files: the shared ones, those that stay together, and groups of them."""

from __future__ import annotations

import pytest
from support.tables.memory_tables import Made, change, change_rows, time_of

from sluicegate.protocols.delta_sharing.changes.rows import RowGroup, SharedRows
from sluicegate.tables.changes import CHANGE_SCHEMA
from sluicegate.tables.partitions import PartitionValues


def german(values: PartitionValues) -> bool:
    return values.get("country") == "DE"


def of_country(path: str, country: str | None) -> dict[str, object]:
    values = None if country is None else f'{{"country":"{country}"}}'
    return change("add", path, partition_values=values)


def paths(rows: SharedRows) -> list[str]:
    found: list[str] = rows.files.column("path").to_pylist()
    return found


MIXED = change_rows(
    of_country("a", "DE"), of_country("b", "FR"), of_country("c", "DE"), of_country("d", None),
    of_country("e", "DE"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("first", "expected"), [(0, ["a", "c", "e"]), (1, ["c", "e"]), (3, []), (9, [])]
)
def test_hidden_rows_do_not_count_for_the_position(first: int, expected: list[str]) -> None:
    rows = SharedRows.of(MIXED, german, first)
    assert (paths(rows), rows.first, len(rows)) == (expected, first, len(expected))


def test_without_a_condition_all_rows_are_shared() -> None:
    rows = SharedRows.of(MIXED, None, 2)
    assert paths(rows) == ["c", "d", "e"]


def test_a_condition_that_no_row_satisfies_leaves_none() -> None:
    assert len(SharedRows.of(MIXED, lambda values: False, 0)) == 0
    assert len(SharedRows.of(change_rows(), german, 0)) == 0


def test_the_rest_of_the_rows_continues_the_count() -> None:
    rest = SharedRows.of(MIXED, german, 1).behind(1)
    assert (paths(rest), rest.first) == (["e"], 2)


@pytest.mark.parametrize(
    ("names", "wanted", "taken"),
    [
        ("abcd", 2, 2),
        ("abcd", 4, 4),
        ("abcd", 9, 4),
        ("abbc", 2, 1),  # `b` stays together
        ("abbc", 3, 3),
        ("aabc", 1, 2),  # more than wanted, because one path is never split
        ("aaab", 2, 3),
        ("aaaa", 2, 4),
        ("abbb", 3, 1),
        ("", 1, 0),
    ],
)
def test_rows_of_one_path_stay_together(names: str, wanted: int, taken: int) -> None:
    rows = SharedRows.of(change_rows(*(change("add", name) for name in names)), None, 0)
    assert rows.together(wanted) == taken


def test_a_group_has_rows_of_several_commits_with_their_versions() -> None:
    group = RowGroup(4)
    group.add(Made(1).commit, change_rows(change("add", "a"), change("add", "b")))
    group.add(Made(3).commit, change_rows(change("remove", "a")))
    assert group.room == 1
    table = group.table()
    assert table.column("path").to_pylist() == ["a", "b", "a"]
    assert [table.schema, table.column("path").num_chunks] == [CHANGE_SCHEMA, 1]
    of_1 = f',"version":1,"timestamp":{time_of(1)}'
    assert group.at == [of_1, of_1, f',"version":3,"timestamp":{time_of(3)}']


def test_an_empty_group_is_an_empty_table() -> None:
    assert RowGroup(2).room == 2
    assert RowGroup(2).table().num_rows == 0
