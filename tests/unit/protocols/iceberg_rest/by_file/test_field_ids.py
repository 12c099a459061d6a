"""Which id a field gets, by the fields that have one."""

from __future__ import annotations

import time
from collections.abc import Sequence

from sluicegate.protocols.iceberg_rest.by_file.field_ids import Assignment, KnownField


class Table:
    """Reads versions, and keeps what each assignment changes."""

    def __init__(self) -> None:
        self.known: dict[int, KnownField] = {}
        self.last_id = 0

    def read(self, version: int, *columns: str, kind: str = "integer") -> list[int]:
        assignment = Assignment(version, list(self.known.values()))
        ids = [assignment(0, name, kind) for name in columns]
        self.known |= {each.id: each for each in (*assignment.gone, *assignment.added)}
        self.last_id = assignment.last_id
        return ids


def test_the_first_version_is_numbered_from_1() -> None:
    table = Table()
    assert table.read(0, "a", "b") == [1, 2]
    assert table.last_id == 2
    assert [each.seen_at for each in table.known.values()] == [0, 0]


def test_nothing_changes_in_a_version_with_the_same_fields() -> None:
    known = [KnownField(1, 0, "a", "integer", 3)]
    for version in (0, 3, 9):
        assignment = Assignment(version, known)
        assert assignment(0, "a", "integer") == 1
        assert (assignment.added, assignment.gone, assignment.last_id) == ([], [], 1)


def test_the_order_of_columns_does_not_matter() -> None:
    table = Table()
    assert table.read(0, "a", "b") == [1, 2]
    assert table.read(1, "c", "b", "a") == [3, 2, 1]


def test_a_field_is_another_one_in_another_parent_or_with_another_kind_of_type() -> None:
    assignment = Assignment(1, [KnownField(1, 0, "a", "integer", 0)])
    assert assignment(0, "a", "string") == 2
    assert assignment(2, "a", "integer") == 3
    assert assignment(0, "A", "integer") == 4


def test_a_column_that_was_dropped_and_added_again_has_another_id() -> None:
    table = Table()
    assert table.read(0, "a", "b") == [1, 2]
    assert table.read(3, "a") == [1]
    assert table.known[2].gone_at == 3
    assert table.read(5, "a", "b") == [1, 3]
    assert table.read(7, "a") == [1]
    assert table.read(9, "a", "b") == [1, 4]
    before = dict(table.known)
    for version, ids in ((0, [1, 2]), (2, [1, 2]), (5, [1, 3]), (6, [1, 3]), (12, [1, 4])):
        assert table.read(version, "a", "b") == ids, version
    assert table.known == before


def test_an_older_version_does_not_end_the_columns_of_newer_ones() -> None:
    table = Table()
    assert table.read(9, "a", "b", "c") == [1, 2, 3]
    assert table.read(2, "a") == [1]
    assert table.read(5, "a", "b") == [1, 2]
    assert table.read(9, "a", "b", "c") == [1, 2, 3]
    assert [each.gone_at for each in table.known.values()] == [None] * 3


def test_the_end_of_a_column_moves_to_an_older_version_that_lacks_it() -> None:
    table = Table()
    table.read(0, "a", "b")
    table.read(8, "a")
    table.read(4, "a")
    assert table.known[2].gone_at == 4
    table.read(6, "a")
    assert table.known[2].gone_at == 4


def test_a_replaced_type_has_another_id_and_the_old_one_ends() -> None:
    table = Table()
    assert table.read(0, "a") == [1]
    assert table.read(1, "a", kind="string") == [2]
    assert table.known[1].gone_at == 1
    assert table.read(0, "a") == [1]


def test_ids_are_never_used_twice() -> None:
    known = [KnownField(7, 0, "gone", "integer", 0, 1)]
    assignment = Assignment(2, known)
    assert assignment(0, "a", "integer") == 8


def test_ids_next_to_those_of_files_begin_above_them() -> None:
    first = 1 << 30
    assignment = Assignment(2, [KnownField(7, 0, "gone", "integer", 0, 1)], first=first)
    assert assignment(4, "element", "struct") == first
    assert assignment(5, "element", "struct") == first + 1


def test_thousands_of_columns_are_found_quickly() -> None:
    known: Sequence[KnownField] = [KnownField(n + 1, 0, f"c{n}", "integer", 0) for n in range(20_000)]
    started = time.process_time()
    assignment = Assignment(1, known)
    assert [assignment(0, each.name, "integer") for each in known] == list(range(1, 20_001))
    assert assignment.gone == []
    assert time.process_time() - started < 2
