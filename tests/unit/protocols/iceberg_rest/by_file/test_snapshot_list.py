"""Which snapshots one table's metadata can contain together."""

from __future__ import annotations

import pytest

from sluicegate.protocols.iceberg_rest.by_file.snapshot_list import SnapshotList
from sluicegate.protocols.iceberg_rest.planning import specs
from sluicegate.tables.iceberg.metadata import ListedSnapshot
from sluicegate.tables.iceberg.shape import Field, IcebergShape, PartitionField, Struct, Type

ID, DAY = Field(1, "id", "long", "id"), Field(2, "day", "date", "day")


def shape(*fields: Field, by: tuple[Field, ...] = ()) -> IcebergShape:
    parts = tuple(PartitionField(1000 + each.id, each, each.physical_name) for each in by)
    return IcebergShape(Struct(fields), parts, 9, 2)


def column(id_: int, name: str, type_: Type = "long") -> Field:
    return Field(id_, name, type_, name)


def listed(*newest_first: IcebergShape, times: tuple[int, ...] = ()) -> list[int]:
    """Ids of the listed snapshots, which count down from 9."""
    return [each.id for each in listing(*newest_first, times=times).snapshots]


def listing(*newest_first: IcebergShape, times: tuple[int, ...] = ()) -> SnapshotList:
    snapshots = [
        ListedSnapshot(9 - place, (times or (0,) * 9)[place], each, "")
        for place, each in enumerate(newest_first)
    ]
    made = SnapshotList(snapshots[0])
    for each in snapshots[1:]:
        made.add_earlier(each)
    return made


def test_snapshots_are_in_ascending_order() -> None:
    assert listed(shape(ID), shape(ID), shape(ID, DAY)) == [7, 8, 9]


def test_a_snapshot_is_left_out_if_a_name_has_another_id_in_a_later_one() -> None:
    assert listed(shape(ID, column(3, "x")), shape(ID), shape(ID, column(2, "x"))) == [8, 9]


def test_names_of_snapshots_that_are_not_the_latest_count() -> None:
    assert listed(shape(ID), shape(column(3, "x")), shape(column(2, "x")), shape(ID)) == [6, 8, 9]


def test_names_in_different_columns_have_nothing_to_do_with_one_another() -> None:
    first, second = (Struct((column(each, "x"),)) for each in (5, 6))
    assert listed(shape(column(3, "a", first)), shape(column(4, "b", second))) == [8, 9]
    assert listed(shape(column(3, "a", first)), shape(column(3, "a", second))) == [9]


def test_a_renamed_column_keeps_its_name_in_files() -> None:
    renamed = Field(1, "number", "long", "id")
    assert listed(shape(renamed), shape(ID)) == [8, 9]


def test_each_partitioning_has_its_specs() -> None:
    both = listing(shape(ID, DAY), shape(ID, DAY, by=(DAY,)), shape(ID, DAY, by=(ID, DAY)))
    assert [each.id for each in both.snapshots] == [7, 8, 9]
    assert [len(each["fields"]) for each in both.specs] == [0, 1, 0, 2, 1, 1, 0]
    assert both.specs[0]["spec-id"] == 0


def test_partition_columns_must_be_in_the_current_schema() -> None:
    assert listed(shape(ID), shape(ID, DAY, by=(DAY,))) == [9]
    widened = Field(1, "id", "long", "id"), Field(1, "id", "int", "id")
    assert listed(shape(widened[0]), shape(widened[1], by=(widened[1],))) == [9]


def test_specs_with_the_same_id_are_not_mixed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specs, "_first", lambda shape: 0)
    assert listed(shape(ID, DAY, by=(ID,)), shape(ID, DAY, by=(DAY,))) == [9]


def test_no_snapshot_is_later_than_the_next_one() -> None:
    found = listing(shape(ID), shape(ID), shape(ID), times=(5, 9, 4)).snapshots
    assert [each.timestamp for each in found] == [4, 5, 5]
