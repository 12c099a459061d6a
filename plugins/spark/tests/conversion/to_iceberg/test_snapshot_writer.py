"""Manifests and their rows in manifest lists are written, and written again, without Spark."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import fastavro
import orjson
import pytest

from sluicegate.api import StorageError, TableUnreadable
from sluicegate_spark.conversion.to_iceberg.jobs.known_files import read_object
from sluicegate_spark.conversion.to_iceberg.manifest_entries import EntryFormat
from sluicegate_spark.conversion.to_iceberg.manifests import ADDED, DELETED, EXISTING, Layout, records
from sluicegate_spark.conversion.to_iceberg.partition_summaries import may_contain
from sluicegate_spark.conversion.to_iceberg.schema import Column, columns_of
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import ENTRIES, SnapshotWriter

from ..delta_parts import delta_field, delta_schema
from .local_access import access_to

# Texts of partition values as in a log, in ascending order, and one that is outside of them.
VALUES = {
    "string": (["", "Bonn", "Ulm", "😀"], "Zürich"),
    "integer": (["-7", "0", "5"], "6"),
    "long": ([str(-(2**40)), "1"], "2"),
    "boolean": (["false"], "true"),
    "float": (["-0.5", "0.1"], "0.2"),
    "double": (["-0.0", "NaN", "0.1"], "0.2"),
    "date": (["1969-07-20", "2024-02-29"], "2024-03-01"),
    "timestamp": (["1969-07-20T00:00:00.000001Z", "2024-02-29T00:00:00Z"], "2025-01-01T00:00:00Z"),
    "timestamp_ntz": (["1582-01-01 00:00:00", "2024-02-29 00:00:00"], "2025-01-01 00:00:00"),
    "decimal(20, 3)": (["-12345678901234567.891", "0.001"], "0.002"),
}
UNPARTITIONED = Layout({"type": "struct", "schema-id": 1, "fields": []}, [], 0, [])


def writer_of(folder: Path, layout: Layout, snapshot: int = 7) -> SnapshotWriter:
    return SnapshotWriter(access_to(folder), "s3://b/t", layout, snapshot, 2, 5)


def entry(number: int) -> dict[str, Any]:
    file = {
        "content": 0,
        "file_path": f"s3://b/t/{number}",
        "file_format": "PARQUET",
        "partition": {},
        "record_count": number,
        "file_size_in_bytes": 9,
    }
    return {"status": ADDED, "data_file": file}


def test_manifests_of_another_partition_spec_are_written_again(tmp_path: Path) -> None:
    """Earlier releases wrote partition spec 0, regardless of the id that the catalog had assigned."""
    before = Layout(UNPARTITIONED.schema, [Column(3, "town", "city", "string")], 0, [1000])
    file = entry(1)["data_file"] | {"partition": {"p0_town": "Ulm"}}
    written = [{"status": ADDED, "data_file": file}]
    (old,) = writer_of(tmp_path, before, snapshot=5).write(written)
    layout = Layout(UNPARTITIONED.schema, [Column(3, "city", "city", "string")], 1, [1004])
    writer = writer_of(tmp_path, layout)
    row = {**old, "sequence_number": 1}
    (new,) = writer.rewrite(row, read_object(writer.access, old["manifest_path"]), set())
    data = read_object(writer.access, new["manifest_path"])
    reader = fastavro.reader(io.BytesIO(data))
    assert reader.metadata["partition-spec-id"] == "1"
    assert '"field-id":1004' in reader.metadata["partition-spec"]
    (found,) = records(data)
    assert (found["status"], found["snapshot_id"], found["sequence_number"]) == (EXISTING, 5, 1)
    assert found["data_file"]["partition"] == {"p0_city": "Ulm"}
    assert (new["partition_spec_id"], new["min_sequence_number"]) == (1, 1)
    (listed,) = records(read_object(writer.access, writer.finish([new])))
    assert listed == new


@pytest.mark.parametrize("type_", VALUES)
def test_partition_values_keep_their_place_when_a_manifest_is_written_again(
    tmp_path: Path, type_: str
) -> None:
    texts, outside = VALUES[type_]
    columns = columns_of(delta_schema(delta_field("p", type_)), {}, 0)
    entries = EntryFormat("s3://b/t", columns, list(columns.top))
    writer = writer_of(tmp_path, Layout(columns.schema, entries.partition, 0, [1000]))
    partitions = [entries.partition_values(orjson.dumps({"p": text}).decode()) for text in texts]
    added = [
        entries.entry(f"s3://b/t/{number}", 9, 1, None, partition)
        for number, partition in enumerate(partitions)
    ]
    (row,) = writer.write(added)
    data = read_object(writer.access, row["manifest_path"])
    (again,) = writer.rewrite(row, data, {"s3://b/t/0"})
    kept = list(records(read_object(writer.access, again["manifest_path"])))
    assert repr([each["data_file"]["partition"] for each in kept]) == repr(
        [each["data_file"]["partition"] for each in records(data)]
    )
    assert [each["status"] for each in kept] == [DELETED] + [EXISTING] * (len(texts) - 1)
    assert again["partitions"] == row["partitions"]
    for partition in partitions:
        assert may_contain(columns.top, row["partitions"], [list(partition.values())])
    other = entries.partition_values(orjson.dumps({"p": outside}).decode())
    is_between = type_ == "string"
    assert may_contain(columns.top, row["partitions"], [list(other.values())]) is is_between
    assert may_contain(columns.top, row["partitions"], [[None]]) is (texts[0] == "")
    assert may_contain(columns.top, None, [list(other.values())])


def test_many_files_get_several_manifests(tmp_path: Path) -> None:
    rows = list(writer_of(tmp_path, UNPARTITIONED).write(map(entry, range(ENTRIES + 1))))
    assert [row["added_files_count"] for row in rows] == [ENTRIES, 1]
    assert [row["added_rows_count"] for row in rows] == [ENTRIES * (ENTRIES - 1) // 2, ENTRIES]
    assert len({row["manifest_path"] for row in rows}) == 2


def test_a_damaged_or_missing_manifest_is_reported(tmp_path: Path) -> None:
    writer = writer_of(tmp_path, UNPARTITIONED)
    (row,) = writer.write([entry(1)])
    data = read_object(writer.access, row["manifest_path"])
    for broken in (data[:-9], b"", b"Obj\x01" + bytes(20)):
        with pytest.raises(TableUnreadable, match="is damaged"):
            list(writer.rewrite(row, broken, set()))
    with pytest.raises(TableUnreadable, match="is missing"):
        read_object(writer.access, "s3://b/t/_iceberg/none.avro")


def test_a_store_that_accepts_no_manifest_can_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a file where the directory should be")
    with pytest.raises(StorageError, match="does not accept the Iceberg table's metadata"):
        list(writer_of(tmp_path, UNPARTITIONED).write([entry(1)]))
