"""Snapshots of converted tables are written with few new manifests, without Spark."""

from __future__ import annotations

import io
from pathlib import Path

import fastavro
from obstore.store import LocalStore

from sluicegate.api import ObjectDirectory
from sluicegate_spark.conversion.to_iceberg.manifests import EXISTING, Layout
from sluicegate_spark.conversion.to_iceberg.schema import Column
from sluicegate_spark.conversion.to_iceberg.snapshot_writer import PreviousManifest, SnapshotWriter


async def test_manifests_of_another_partition_spec_are_written_again(tmp_path: Path) -> None:
    """Earlier releases wrote partition spec 0, regardless of the id that the catalog had assigned."""
    column = Column(3, "city", "city", "string")
    layout = Layout({"type": "struct", "schema-id": 1, "fields": []}, [column], 1, [1004])
    directory = ObjectDirectory(LocalStore(str(tmp_path)), "t")
    file = {
        "content": 0,
        "file_path": "s3://b/t/x",
        "file_format": "PARQUET",
        "partition": {"p0_town": "Ulm"},
        "record_count": 1,
        "file_size_in_bytes": 9,
    }
    entry = {
        "status": 1,
        "snapshot_id": 5,
        "sequence_number": 1,
        "file_sequence_number": 1,
        "data_file": file,
    }
    writing = SnapshotWriter(directory, "s3://b/t", layout, 2, 5)
    await writing.carry_over(PreviousManifest({"partition_spec_id": 0}, [entry]), {"s3://b/t/x"})
    await writing.finish()
    (path,) = (tmp_path / "t/_iceberg").glob("*-m0.avro")
    reader = fastavro.reader(io.BytesIO(path.read_bytes()))
    (found,) = reader
    assert isinstance(found, dict)
    assert reader.metadata["partition-spec-id"] == "1"
    assert '"field-id":1004' in reader.metadata["partition-spec"]
    assert (found["status"], found["snapshot_id"]) == (EXISTING, 5)
    assert found["data_file"]["partition"] == {"p0_city": "Ulm"}
    (listed,) = (tmp_path / "t/_iceberg").glob("snap-*.avro")
    (row,) = fastavro.reader(io.BytesIO(listed.read_bytes()))
    assert isinstance(row, dict)
    assert row["partition_spec_id"] == 1
