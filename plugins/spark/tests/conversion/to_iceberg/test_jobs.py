"""Functions for executors: what they read, and how they return errors, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sluicegate.api import (
    ObjectMissing,
    SluicegateError,
    StorageError,
    TableUnreadable,
    TaskFailed,
    Unavailable,
    UnsupportedOperation,
)
from sluicegate_spark.conversion.executor_errors import (
    failure_of,
    is_damage,
    raise_failure,
)
from sluicegate_spark.conversion.to_iceberg.jobs.known_files import _KNOWN, _Listing
from sluicegate_spark.conversion.to_iceberg.jobs.log_actions import _ACTIONS, _PARTS, _Reading
from sluicegate_spark.conversion.to_iceberg.jobs.new_files import ADDED, Checks
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.manifests import Layout
from sluicegate_spark.conversion.to_iceberg.schema import columns_of
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import SnapshotWriter

from ..delta_parts import delta_field, delta_schema
from .local_access import access_to

LOCATION = "s3://b/t"
LAYOUT = Layout({"type": "struct", "schema-id": 1, "fields": []}, [], 0, [])


def rows_of(batches: Any, schema: pa.Schema) -> list[dict[str, Any]]:
    table = pa.Table.from_batches(list(batches), schema=schema)
    return [{k: v for k, v in row.items() if v is not None} for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("error", "damage"),
    [
        (TableUnreadable("broken", detail="why"), True),
        (ObjectMissing("gone", detail="what"), True),
        (StorageError("down"), False),
        (UnsupportedOperation("vectors"), False),
        (TaskFailed("no", error_code="NOT_GRANTED", retryable=True, detail="x"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_arrive_as_they_were_raised(error: SluicegateError, *, damage: bool) -> None:
    text = failure_of(error)
    assert is_damage(text) is damage
    kind = Unavailable if isinstance(error, ObjectMissing) else type(error)
    with pytest.raises(kind, match=error.message) as raised:
        raise_failure(text)
    assert raised.value.detail == error.detail
    if isinstance(error, TaskFailed):
        assert isinstance(raised.value, TaskFailed)
        assert (raised.value.error_code, raised.value.retryable) == ("NOT_GRANTED", True)
    raise_failure(None)


def test_a_damaged_part_of_a_log_is_one_row_behind_what_was_read(tmp_path: Path) -> None:
    folder = tmp_path / "t/_delta_log"
    folder.mkdir(parents=True)
    lines = [
        {"add": {"path": "a%20b", "size": 1, "dataChange": True, "partitionValues": {"p": "x"}}},
        {"remove": {"path": "s3://b/t/c", "dataChange": True}},
    ]
    content = b"\n".join(map(orjson.dumps, lines))
    (folder / "0.json").write_bytes(content)
    (folder / "1.json").write_bytes(b"{")
    parts = [
        {"name": "0.json", "size": len(content), "version": 0, "compacted": False},
        {"name": "1.json", "size": 1, "version": 1, "compacted": False},
        {"name": "2.json", "size": 1, "version": 2, "compacted": False},
    ]
    read = _Reading(LOCATION, access_to(tmp_path))
    first, second, *failures = rows_of(read([pa.RecordBatch.from_pylist(parts, _PARTS)]), _ACTIONS)
    assert first == {
        "key": "a b",
        "location": "s3://b/t/a b",
        "size": 1,
        "partition_values": '{"p":"x"}',
        "has_vector": False,
        "removed": False,
        "version": 0,
        "line": 0,
    }
    assert (second["location"], second["removed"], second["line"]) == ("s3://b/t/c", True, 1)
    assert [row["part"] for row in failures] == ["1.json", "2.json"]
    assert [is_damage(row["failure"]) for row in failures] == [True, True]
    assert all("key" not in row for row in failures)


def test_live_files_of_manifests_are_listed_by_number(tmp_path: Path) -> None:
    access = access_to(tmp_path)
    file = {
        "content": 0,
        "file_path": "s3://b/t/x",
        "file_format": "PARQUET",
        "partition": {},
        "record_count": 1,
        "file_size_in_bytes": 9,
    }
    writer = SnapshotWriter(access, LOCATION, LAYOUT, 7, 2, None)
    entries = [
        {
            "status": status,
            "sequence_number": 1,
            "data_file": {**file, "file_path": f"{LOCATION}/{status}"},
        }
        for status in range(3)
    ]
    (row,) = writer.write(entries)
    manifests = pa.RecordBatch.from_pydict(
        {
            "manifest": pa.array([4, 5], pa.int32()),
            "path": [row["manifest_path"], "s3://b/t/_iceberg/none"],
        }
    )
    *files, failure = rows_of(_Listing(access)([manifests]), _KNOWN)
    assert files == [{"manifest": 4, "location": f"s3://b/t/{status}"} for status in (0, 1)]
    assert failure["manifest"] == 5
    assert is_damage(failure["failure"])


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ({"location": "s3://b/t/whole"}, {"rows": 3, "dropped": ["old"]}),
        ({"location": "s3://b/t/none"}, {"broken": "FileNotFoundError"}),
        ({"location": "s3://b/t/torn"}, {"broken": "TableUnreadable"}),
        ({"location": "s3://b/t/whole", "size": None}, "without a path or a size"),
        ({"location": "s3://b/t/whole", "size": -1}, "negative size"),
        ({"location": "s3://b/t/_delta_log/x"}, "cannot be shared"),
        ({"location": "s3://b/t/other"}, "in a different case"),
        ({"location": "s3://b/t/numbered"}, "field ids that differ"),
        ({"location": "s3://b/t/whole", "partition_values": '{"p":"x"}'}, "is not of type int"),
    ],
)
def test_new_files_are_checked(tmp_path: Path, file: dict[str, Any], expected: object) -> None:
    (tmp_path / "t").mkdir()
    sizes = {"none": 9, "torn": 20, "x": 9}
    (tmp_path / "t/torn").write_bytes(bytes(20))
    numbered = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "9"})
    schemas = {
        "whole": pa.schema([("id", pa.int64()), ("old", pa.int64())]),
        "other": pa.schema([("ID", pa.int64())]),
        "numbered": pa.schema([numbered]),
    }
    for name, schema in schemas.items():
        values = [pa.array([1, 2, 3], pa.int64())] * len(schema)
        pq.write_table(pa.table(values, schema=schema), tmp_path / "t" / name)
        sizes[name] = (tmp_path / "t" / name).stat().st_size
    schema_string = delta_schema(delta_field("id", "long"), delta_field("p", "integer"))
    columns = columns_of(schema_string, {}, 0)
    entries = EntryFormat(LOCATION, columns, [columns.top[1]])
    row = {"size": sizes[file["location"].rpartition("/")[2]], "partition_values": '{"p":"1"}', **file}
    batch = pa.RecordBatch.from_pylist(
        [{"stats": None, **row}],
        pa.schema([(name, pa.int64() if name == "size" else pa.string()) for name in ADDED]),
    )
    checks = Checks(entries, columns.field_ids, access_to(tmp_path))
    (found,) = pa.Table.from_batches(list(checks([batch]))).to_pylist()
    if isinstance(expected, dict):
        assert {name: found[name] for name in expected} == expected
        assert found["failure"] is None
    else:
        with pytest.raises(SluicegateError, match=str(expected)):
            raise_failure(found["failure"])
