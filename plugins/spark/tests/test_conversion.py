"""Values, columns and lines of converted tables, without Spark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from obstore.store import LocalStore
from pyiceberg.conversions import from_bytes
from pyiceberg.schema import Schema
from pyiceberg.types import PrimitiveType

from sluicegate.api import (
    ObjectDirectory,
    TableUnreadable,
    TaskFailed,
    UnsupportedOperation,
)
from sluicegate.formats import FILE_SCHEMA, FileChunk, FileSet
from sluicegate_spark.conversion.agreement import agrees
from sluicegate_spark.conversion.columns import columns_of, joined, places_in
from sluicegate_spark.conversion.delta_log import adds, commit, removes
from sluicegate_spark.conversion.difference import difference
from sluicegate_spark.conversion.to_delta import ToDelta
from sluicegate_spark.conversion.to_iceberg import ToIceberg
from sluicegate_spark.conversion.values import bound, partition_value

PAGE = Path(__file__).parents[3].joinpath("docs/operators/table-conversion.md").read_text("utf-8")


def iceberg_type(name: str) -> PrimitiveType:
    field = {"id": 1, "name": "c", "required": False, "type": name}
    found = Schema.model_validate({"type": "struct", "fields": [field]}).find_field(1).field_type
    assert isinstance(found, PrimitiveType)
    return found


@pytest.mark.parametrize(
    ("type_", "value", "lower", "upper"),
    [
        ("int", -7, "-7", "-7"),
        ("long", 2**40, str(2**40), str(2**40)),
        ("double", 0.5, "0.5", "0.5"),
        ("double", 0, "-0.0", "0.0"),
        ("string", "Köln", "Köln", "Köln"),
        ("decimal(20, 3)", "-12345678901234567.891", *["-12345678901234567.891"] * 2),
        ("decimal(5, 0)", 128, "128", "128"),
        ("date", "1969-07-20", "-165", "-165"),
        ("timestamptz", "1970-01-01T00:00:01.500Z", "1500000", "1500999"),
        ("timestamptz", "1970-01-01T01:00:00.000+01:00", "0", "999"),
        ("timestamp", "1969-12-31T23:59:59.999", "-1000", "-1"),
    ],
)
def test_pyiceberg_reads_the_bounds_of_statistics(
    type_: str, value: Any, lower: str, upper: str
) -> None:
    for is_upper, expected in ((False, lower), (True, upper)):
        made = bound(value, type_, upper=is_upper)
        assert made is not None
        assert str(from_bytes(iceberg_type(type_), made)) == expected


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("double", "NaN"),
        ("int", "x"),
        ("int", 2**31),
        ("date", "12024-01-01"),
        ("binary", "x"),
        ("boolean", True),
        ("decimal(5, 2)", 1.001),
    ],
)
def test_a_bound_that_cannot_be_said_exactly_is_left_out(type_: str, value: Any) -> None:
    assert bound(value, type_, upper=True) is None


def test_partition_values_are_read_by_type() -> None:
    cases = [
        ("7", "int", 7),
        ("", "string", None),
        (None, "int", None),
        ("a b%2F", "string", "a b%2F"),
        ("true", "boolean", True),
        ("1969-07-20", "date", -165),
        ("1970-01-01T00:00:00.000001Z", "timestamptz", 1),
        ("1970-01-01 00:00:01.5", "timestamp", 1_500_000),
        ("-1.50", "decimal(5, 2)", (-150).to_bytes(3, "big", signed=True)),
    ]
    assert [partition_value(text, type_, "p") for text, type_, _ in cases] == [
        expected for _, _, expected in cases
    ]
    with pytest.raises(UnsupportedOperation, match="no time zone"):
        partition_value("1970-01-01 00:00:00", "timestamptz", "p")
    with pytest.raises(TableUnreadable, match="'p' is no int"):
        partition_value("seven", "int", "p")


def delta_field(name: str, type_: Any, **metadata: Any) -> dict[str, Any]:
    prefixed = {f"delta.columnMapping.{key}": value for key, value in metadata.items()}
    return {"name": name, "type": type_, "nullable": True, "metadata": prefixed}


def delta_schema(*fields: dict[str, Any]) -> str:
    return orjson.dumps({"type": "struct", "fields": fields}).decode()


def test_field_ids_stay_when_columns_are_added() -> None:
    tags = {"type": "array", "elementType": "string", "containsNull": True}
    first = columns_of(delta_schema(delta_field("a", "long"), delta_field("tags", tags)), {}, 0)
    assert first.places == {"a": 1, "tags": 2, joined(("tags", "element")): 3}
    known = places_in(first.mapping_text)
    new = delta_schema(delta_field("b", "short"), delta_field("tags", tags), delta_field("a", "long"))
    second = columns_of(new, known, first.last_id)
    assert [
        (column.name, column.id, column.type) for column in second.top if column.name != "tags"
    ] == [
        ("b", 4, "int"),
        ("a", 1, "long"),
    ]
    assert second.places[joined(("tags", "element"))] == 3


def test_field_ids_of_a_column_mapping_are_kept_and_files_are_told_by_physical_names() -> None:
    place = {"type": "struct", "fields": [delta_field("town", "string", id=7, physicalName="p7")]}
    found = columns_of(delta_schema(delta_field("place", place, id=5, physicalName="p5")), {}, 9)
    assert found.places == {"p5": 5, joined(("p5", "p7")): 7}
    assert found.schema["fields"][0]["type"]["fields"][0]["name"] == "town"
    assert found.last_id == 9


def test_types_that_iceberg_lacks_are_named() -> None:
    with pytest.raises(UnsupportedOperation, match="column 'v' of the Delta table is of type variant"):
        columns_of(delta_schema(delta_field("v", "variant")), {}, 0)


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ({"a": None, "tags": None}, True),
        ({"a": 1, "tags": 2, joined(("tags", "element")): 3}, True),
        ({"a": 1, "gone": 8}, True),
        ({"a": 1, "tags": 2, joined(("tags", "element")): None}, False),
        ({"a": 2}, False),
        ({"other": 1}, False),
    ],
)
def test_files_are_read_by_names_or_by_ids_and_never_by_others(
    file: dict[str, int | None], found: bool
) -> None:
    assert agrees(file, {"a": 1, "tags": 2, joined(("tags", "element")): 3}) is found


def files_of(*rows: dict[str, Any]) -> FileSet:
    columns = {
        field.name: pa.array([row.get(field.name) for row in rows], field.type)
        for field in FILE_SCHEMA
        if field.name != "partition_values"
    }
    columns["partition_values"] = pa.array(["{}"] * len(rows)).dictionary_encode()
    arrays = [columns[field.name] for field in FILE_SCHEMA]
    return FileSet.of([FileChunk.of(pa.RecordBatch.from_arrays(arrays, schema=FILE_SCHEMA))])


VECTOR = {"storageType": "i", "pathOrInlineDv": 'x"y', "sizeInBytes": 3, "cardinality": 1}


def test_lines_of_a_log_are_json_with_percent_encoded_paths() -> None:
    files = files_of(
        {"path": "p=a b%2F/ü.parquet", "size": 5, "stats": '{"numRecords":1,"x":"\\"\n"}'},
        {"path": "s3://other/a b:c", "size": 6, "modification_time": 9, "deletion_vector": VECTOR},
    )
    first, second = (orjson.loads(line)["add"] for line in b"".join(adds(files)).splitlines())
    assert first["path"] == "p%3Da%20b%252F/%C3%BC.parquet"
    assert first["stats"] == '{"numRecords":1,"x":"\\"\n"}'
    assert (second["path"], second["deletionVector"]) == ("s3://other/a%20b%3Ac", VECTOR)
    removed = orjson.loads(b"".join(removes(files, 7)).splitlines()[1])["remove"]
    assert (removed["path"], removed["deletionVector"]) == (second["path"], second["deletionVector"])


def test_a_file_with_other_deleted_rows_is_another_one() -> None:
    before = files_of({"path": "a", "size": 1}, {"path": "b", "size": 1}, {"path": "c", "size": 1})
    after = files_of({"path": "a", "size": 1}, {"path": "b", "size": 1, "deletion_vector": VECTOR})
    assert paths(difference(after, before)) == ["b"]
    assert paths(difference(before, after)) == ["b", "c"]
    without_a = before.where(pa.array([False, True, True]))
    assert paths(difference(after, without_a)) == ["a", "b"]


async def test_a_commit_never_overwrites_another(tmp_path: Path) -> None:
    directory = ObjectDirectory(LocalStore(str(tmp_path)), "orders")
    await commit(directory, 3, b"first")
    with pytest.raises(TaskFailed, match="another writer made version 3") as failed:
        await commit(directory, 3, b"second")
    assert failed.value.retryable
    assert (tmp_path / "orders/_delta_log/00000000000000000003.json").read_bytes() == b"first"


def paths(files: FileSet) -> list[str]:
    return [path for batch in files.batches(10) for path in batch.column("path").to_pylist()]


def test_each_property_has_a_row_and_each_row_a_property() -> None:
    sections = PAGE.split("\n## ")[1:3]
    rows = [re.findall(r"^\| `(\w+)` ", section, re.MULTILINE) for section in sections]
    assert rows == [["writable", "checkpoint_interval"], ["location", "target"]]
    assert set(rows[0]) <= ToDelta.model_fields.keys()
    assert set(rows[1]) == ToIceberg.model_fields.keys()
