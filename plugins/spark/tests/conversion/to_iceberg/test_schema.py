"""Schemas of Delta tables become schemas and name mappings of Iceberg, without Spark."""

from __future__ import annotations

import pytest

from sluicegate.api import UnsupportedOperation
from sluicegate_spark.conversion.to_iceberg.schema import columns_of, field_ids_in, join_path

from ..delta_parts import delta_field, delta_schema


def test_field_ids_stay_when_columns_are_added() -> None:
    tags = {"type": "array", "elementType": "string", "containsNull": True}
    first = columns_of(delta_schema(delta_field("a", "long"), delta_field("tags", tags)), {}, 0)
    assert first.field_ids == {"a": 1, "tags": 2, join_path(("tags", "element")): 3}
    known = field_ids_in(first.mapping_text)
    new = delta_schema(delta_field("b", "short"), delta_field("tags", tags), delta_field("a", "long"))
    second = columns_of(new, known, first.last_id)
    assert [
        (column.name, column.id, column.type) for column in second.top if column.name != "tags"
    ] == [
        ("b", 4, "int"),
        ("a", 1, "long"),
    ]
    assert second.field_ids[join_path(("tags", "element"))] == 3


def test_field_ids_of_a_column_mapping_are_kept_and_files_have_physical_names() -> None:
    place = {"type": "struct", "fields": [delta_field("town", "string", id=7, physicalName="p7")]}
    found = columns_of(delta_schema(delta_field("place", place, id=5, physicalName="p5")), {}, 9)
    assert found.field_ids == {"p5": 5, join_path(("p5", "p7")): 7}
    assert found.schema["fields"][0]["type"]["fields"][0]["name"] == "town"
    assert found.last_id == 9


def test_types_that_iceberg_lacks_are_named() -> None:
    with pytest.raises(UnsupportedOperation, match="column 'v' of the Delta table is of type variant"):
        columns_of(delta_schema(delta_field("v", "variant")), {}, 0)


def test_fields_that_are_gone_stay_in_the_name_mapping() -> None:
    place = {"type": "struct", "fields": [delta_field("a", "integer"), delta_field("b", "integer")]}
    first = columns_of(delta_schema(delta_field("x", "long"), delta_field("place", place)), {}, 0)
    known = field_ids_in(first.mapping_text)
    kept = {"type": "struct", "fields": [delta_field("b", "integer")]}
    second = columns_of(delta_schema(delta_field("place", kept), delta_field("y", "long")), known, 4)
    assert second.dropped == {"x": 1, join_path(("place", "a")): 3}
    assert field_ids_in(second.mapping_text) == {**known, "y": 5}
    with_old = second.with_dropped(["old", join_path(("old", "part")), "y"])
    ids = field_ids_in(with_old.mapping_text)
    assert ids.keys() == known.keys() | {"y", "old", join_path(("old", "part"))}
    assert len(set(ids.values())) == len(ids)
    third = columns_of(delta_schema(delta_field("z", "long")), ids, 5)
    assert third.field_ids == {"z": 6}  # ids of what was in older files only are far off
    assert with_old.schema == second.schema


def test_ids_of_list_elements_are_never_those_of_columns_that_the_log_numbers_later() -> None:
    tags = {"type": "array", "elementType": "string", "containsNull": True}
    numbered = delta_field("tags", tags, id=1, physicalName="tags")
    first = columns_of(delta_schema(numbered), {}, 1)
    later = delta_field("later", "long", id=2, physicalName="p2")
    second = columns_of(delta_schema(numbered, later), field_ids_in(first.mapping_text), first.last_id)
    element = join_path(("tags", "element"))
    assert second.field_ids[element] == first.field_ids[element] > 2
    assert len(set(second.field_ids.values())) == 3


def test_names_that_files_may_use_for_another_column_are_known() -> None:
    renamed = delta_field("title", "string", id=2, physicalName="name")
    new = delta_field("name", "string", id=3, physicalName="p3")
    found = columns_of(delta_schema(renamed), {}, 2)
    assert found.ambiguous_names == []
    assert columns_of(delta_schema(renamed, new), {}, 3).ambiguous_names == ["name"]
    assert columns_of(delta_schema(new), {"name": 2}, 3).ambiguous_names == ["name"]
