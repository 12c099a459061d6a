"""Name mappings that also have the names in data files without field ids."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sluicegate.tables.iceberg.file_names import add_names, names_without_ids
from sluicegate.tables.iceberg.shape import FIRST_HIDDEN_ID

LAST = FIRST_HIDDEN_ID - 1


def numbered(name: str, type_: pa.DataType, number: int = 1) -> pa.Field:
    return pa.field(name, type_, metadata={"PARQUET:field_id": str(number)})


def mapped(*files: dict[str, Any], used: tuple[int, ...] = (1, 2)) -> list[dict[str, Any]]:
    """A mapping of the fields 1 (`Id`) and 2 (`s`, with nothing in it) and the names of files."""
    mapping: list[dict[str, Any]] = [{"field-id": 1, "names": ["Id"]}, {"field-id": 2, "names": ["s"]}]
    add_names(mapping, files, used)
    return mapping


def test_names_of_all_types_are_found() -> None:
    struct = pa.struct({"b": pa.int64()})
    fields = [
        pa.field("a", pa.int64()),
        pa.field("l", pa.list_(struct)),
        pa.field("m", pa.map_(pa.string(), struct)),
    ]
    assert names_without_ids(pa.schema(fields)) == {
        "a": {},
        "l": {"element": {"b": {}}},
        "m": {"key": {}, "value": {"b": {}}},
    }


def test_the_parts_of_a_variant_are_no_fields() -> None:
    variant = pa.struct({"value": pa.binary(), "metadata": pa.binary()})
    assert names_without_ids(pa.schema({"v": variant})) == {"v": {}}


def test_a_file_with_all_ids_needs_no_names() -> None:
    struct = pa.struct([numbered("b", pa.int64())])
    assert names_without_ids(pa.schema([numbered("a", struct)])) == {}
    without = pa.struct([pa.field("b", pa.int64())])
    assert names_without_ids(pa.schema([numbered("a", without)])) == {"a": {"b": {}}}


@pytest.mark.parametrize(
    ("files", "added"),
    [
        ([{"Id": {}, "s": {}}], []),
        ([{"x": {}}, {"x": {}, "y": {}}], [(LAST, ["x"]), (LAST - 1, ["y"])]),
    ],
)
def test_other_names_get_ids_of_no_field(
    files: list[dict[str, Any]], added: list[tuple[int, list[str]]]
) -> None:
    mapping = mapped(*files)
    assert [each["names"] for each in mapping[:2]] == [["Id"], ["s"]]
    assert [(each["field-id"], each["names"]) for each in mapping[2:]] == added


def test_ids_of_fields_are_not_used() -> None:
    assert mapped({"x": {}}, used=(1, 2, LAST, LAST - 1))[2]["field-id"] == LAST - 2


def test_a_name_in_another_case_is_another_name_of_the_field() -> None:
    assert mapped({"id": {}}, {"ID": {}})[0] == {"field-id": 1, "names": ["Id", "id", "ID"]}


def test_a_file_with_both_names_has_two_columns() -> None:
    mapping = mapped({"Id": {}, "id": {}})
    assert (mapping[0]["names"], mapping[2]["names"]) == (["Id"], ["id"])


def test_names_in_a_field_are_added_to_it() -> None:
    [_, field] = mapped({"S": {"x": {"element": {}}}})
    element = {"field-id": LAST - 1, "names": ["element"]}
    assert field["fields"] == [{"field-id": LAST, "names": ["x"], "fields": [element]}]
