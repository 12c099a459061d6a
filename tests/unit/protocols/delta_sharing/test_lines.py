import hashlib
import json
from typing import Any

import pyarrow as pa
import pytest

from sluicegate.api import Presigned, TableUnreadable
from sluicegate.protocols.delta_sharing.encoding import delta as delta_lines
from sluicegate.protocols.delta_sharing.encoding import parquet as parquet_lines
from sluicegate.protocols.delta_sharing.encoding.ndjson import TableTotals, VersionStamp
from sluicegate.tables.delta import vector_files
from sluicegate.tables.snapshot import FILE_SCHEMA, TableMetadata

INLINE = {"storageType": "i", "pathOrInlineDv": "^Bg9^0", "sizeInBytes": 34, "cardinality": 1}
STORED = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}


def file(path: str, **values: Any) -> dict[str, Any]:
    return {"path": path, "size": 10, "modification_time": 5, "partition_values": "{}", **values}


def batch(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=FILE_SCHEMA)


def parsed(lines: bytes) -> list[dict[str, Any]]:
    assert lines.endswith(b"\n")
    return [json.loads(line) for line in lines.splitlines()]


def signed(*urls: str) -> Presigned:
    return Presigned(list(urls), 1_700_000_000_000)


def test_parquet_file_lines() -> None:
    rows = batch(
        file("a.parquet", stats='{"numRecords":1,"minValues":{"x":"\\"q\\" \\\\ é"}}'),
        file("d=1/ü.parquet", partition_values='{"d":"1","e":null}'),
    )
    first, second = parsed(parquet_lines.files(rows, signed("https://a?X=1&b=2", "https://b")))
    assert first == {
        "file": {
            "url": "https://a?X=1&b=2",
            "id": hashlib.md5(b"a.parquet").hexdigest(),
            "partitionValues": {},
            "size": 10,
            "stats": '{"numRecords":1,"minValues":{"x":"\\"q\\" \\\\ é"}}',
            "expirationTimestamp": 1_700_000_000_000,
        }
    }
    assert second["file"]["partitionValues"] == {"d": "1", "e": None}
    assert "stats" not in second["file"]


def test_files_of_time_travel_carry_their_version() -> None:
    lines = parquet_lines.files(batch(file("a")), signed("https://a"), VersionStamp(3, 99))
    assert parsed(lines)[0]["file"]["version"] == 3
    assert parsed(lines)[0]["file"]["timestamp"] == 99


def test_parquet_metadata_leaves_column_mapping_out() -> None:
    field = {"name": "a", "type": "long", "nullable": True}
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "a", "comment": "x"}
    schema = {"type": "struct", "fields": [{**field, "metadata": mapped}]}
    table = TableMetadata(
        "id-1",
        json.dumps(schema),
        ("a",),
        {"delta.columnMapping.mode": "name", "delta.enableChangeDataFeed": "true"},
    )
    [line] = parsed(parquet_lines.metadata(table, totals=TableTotals(20, 2), version=4))
    value = line["metaData"]
    assert json.loads(value.pop("schemaString"))["fields"] == [{**field, "metadata": {"comment": "x"}}]
    assert value == {
        "id": "id-1",
        "format": {"provider": "parquet"},
        "partitionColumns": ["a"],
        "configuration": {"enableChangeDataFeed": "true"},
        "version": 4,
        "size": 20,
        "numFiles": 2,
    }


def test_delta_file_lines_wrap_the_whole_action() -> None:
    rows = batch(
        file(
            "a.parquet",
            stats='{"numRecords":1}',
            tags='{"k":"v"}',
            base_row_id=0,
            default_row_commit_version=2,
            clustering_provider="liquid",
            deletion_vector=INLINE,
        ),
        file("b.parquet"),
    )
    first, second = parsed(delta_lines.files(rows, signed("https://a", "https://b"), {}))
    assert first["file"]["deltaSingleAction"] == {
        "add": {
            "path": "https://a",
            "partitionValues": {},
            "size": 10,
            "modificationTime": 5,
            "dataChange": True,
            "stats": '{"numRecords":1}',
            "tags": {"k": "v"},
            "baseRowId": 0,
            "defaultRowCommitVersion": 2,
            "clusteringProvider": "liquid",
            "deletionVector": INLINE,
        }
    }
    vector_id = hashlib.sha256(b"^Bg9^0").hexdigest()
    assert first["file"]["deletionVectorFileId"] == vector_id
    assert "deletionVectorFileId" not in second["file"]
    assert "deletionVector" not in second["file"]["deltaSingleAction"]["add"]
    assert len(second["file"]["id"]) == 64


def test_a_file_whose_log_says_no_time_is_answered_with_one() -> None:
    lines = delta_lines.files(batch(file("a", modification_time=None)), signed("https://a"), {})
    assert parsed(lines)[0]["file"]["deltaSingleAction"]["add"]["modificationTime"] == 0


def test_a_stored_deletion_vector_is_answered_by_its_url() -> None:
    place = vector_files.location("s3://lake/t", STORED)
    assert place == "s3://lake/t/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    lines = delta_lines.files(
        batch(file("a", deletion_vector=STORED)), signed("https://a"), {0: (place, "https://dv")}
    )
    [line] = parsed(lines)
    assert line["file"]["deltaSingleAction"]["add"]["deletionVector"] == {
        **STORED,
        "storageType": "p",
        "pathOrInlineDv": "https://dv",
    }
    assert len(line["file"]["deletionVectorFileId"]) == 64


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("i", "^Bg9^0", None),
        ("p", "s3://other/dv.bin", "s3://other/dv.bin"),
        (
            "u",
            "^-aqEH.-t@S}K{vb[*k^",
            "s3://lake/t/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
        ),
    ],
)
def test_where_deletion_vectors_lie(kind: str, path: str, expected: str | None) -> None:
    vector = {"storageType": kind, "pathOrInlineDv": path}
    assert vector_files.location("s3://lake/t", vector) == expected


@pytest.mark.parametrize(
    ("kind", "path"), [("u", "short"), ("x", "p"), ("u", "\x7f" * 20), ("u", "#" * 20)]
)
def test_broken_deletion_vectors_are_refused(kind: str, path: str) -> None:
    with pytest.raises(TableUnreadable):
        vector_files.location("s3://lake/t", {"storageType": kind, "pathOrInlineDv": path})
