"""Lines of changed files in both response formats."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pyarrow as pa
import pytest
from support.tables.memory_tables import Row, change, change_rows

from sluicegate.api import Presigned
from sluicegate.protocols.delta_sharing.changes import lines

EXPIRES = 1_700_000_000_000
AT = {"version": 3, "timestamp": 99}
INLINE = {"storageType": "i", "pathOrInlineDv": "^Bg9^0", "sizeInBytes": 34, "cardinality": 1}
STORED = {"storageType": "u", "pathOrInlineDv": "x", "offset": 4, "sizeInBytes": 40, "cardinality": 6}


def table(*rows: Row) -> pa.Table:
    return pa.Table.from_batches([change_rows(*rows)])


def presigned(count: int) -> Presigned:
    return Presigned([f'https://store.example/"{number}"?a=1&b' for number in range(count)], EXPIRES)


def at(count: int) -> list[str]:
    return [',"version":3,"timestamp":99'] * count


def parsed(written: bytes) -> list[dict[str, Any]]:
    assert not written or written.endswith(b"\n")
    return [json.loads(line) for line in written.splitlines()]


def of_parquet(*rows: Row, partitioned: bool = True, hash_name: str = "md5") -> list[dict[str, Any]]:
    signed = presigned(len(rows))
    written = lines.parquet(table(*rows), signed, at(len(rows)), hash_name, partitioned=partitioned)
    return parsed(written)


def of_delta(*rows: Row, signed: dict[int, tuple[str, str]] | None = None) -> list[dict[str, Any]]:
    return parsed(lines.delta(table(*rows), presigned(len(rows)), signed or {}, at(len(rows))))


def test_without_rows_there_are_no_lines() -> None:
    assert of_parquet() == []
    assert of_delta() == []


def test_parquet_lines_of_each_kind() -> None:
    stats = '{"numRecords":1}'
    rows = [
        change("add", "d=1/a", partition_values='{"d":"1"}', stats=stats),
        change("remove", "d=1/b", partition_values='{"d":"1"}', stats=stats),
        change("cdc", "_change_data/c", partition_values='{"d":null}', size=7),
    ]
    common = {"expirationTimestamp": EXPIRES, **AT}
    urls = presigned(3).urls
    ids = [hashlib.md5(str(row["path"]).encode()).hexdigest() for row in rows]
    of_1, of_null = {"partitionValues": {"d": "1"}}, {"partitionValues": {"d": None}}
    assert of_parquet(*rows) == [
        {"add": {"url": urls[0], "id": ids[0], **of_1, "size": 10, "stats": stats, **common}},
        {"remove": {"url": urls[1], "id": ids[1], **of_1, "size": 10, **common}},
        {"cdf": {"url": urls[2], "id": ids[2], **of_null, "size": 7, **common}},
    ]


@pytest.mark.parametrize(("partitioned", "expected"), [(False, {}), (True, None)])
def test_partition_values_that_the_log_lacks_are_empty_if_the_table_has_no_partitions(
    partitioned: bool, expected: dict[str, str] | None
) -> None:
    row = change("remove", "a", partition_values=None, size=None)
    (line,) = of_parquet(row, partitioned=partitioned)
    assert line["remove"].get("partitionValues") == expected
    assert "size" not in line["remove"]


def test_the_client_chooses_the_hash_of_ids() -> None:
    (line,) = of_parquet(change("add", "a"), hash_name="sha256")
    assert line["add"]["id"] == hashlib.sha256(b"a").hexdigest()


def test_delta_lines_wrap_the_action_of_the_log() -> None:
    stats = '{"numRecords":1,"minValues":{"x":"\\"ü"}}'
    rows = [
        change("add", "a", stats=stats, tags='{"k":"v"}', base_row_id=3, clustering_provider="liquid"),
        change("remove", "b", modification_time=8),
        change("cdc", "c", modification_time=9),
    ]
    urls = presigned(3).urls
    actions = [
        {
            "add": {
                "path": urls[0],
                "partitionValues": {},
                "size": 10,
                "modificationTime": 5,
                "dataChange": True,
                "stats": stats,
                "tags": {"k": "v"},
                "baseRowId": 3,
                "clusteringProvider": "liquid",
            }
        },
        {
            "remove": {
                "path": urls[1],
                "partitionValues": {},
                "size": 10,
                "deletionTimestamp": 8,
                "dataChange": True,
                "extendedFileMetadata": True,
            }
        },
        {"cdc": {"path": urls[2], "partitionValues": {}, "size": 10, "dataChange": False}},
    ]
    assert of_delta(*rows) == [
        {
            "file": {
                "id": hashlib.sha256(str(row["path"]).encode()).hexdigest(),
                **AT,
                "expirationTimestamp": EXPIRES,
                "deltaSingleAction": action,
            }
        }
        for row, action in zip(rows, actions, strict=True)
    ]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("add", {"modificationTime": 0}), ("remove", {}), ("cdc", {})],
)
def test_only_an_added_file_has_a_time_that_the_log_lacks(kind: str, expected: dict[str, int]) -> None:
    (line,) = of_delta(change(kind, "a", modification_time=None))
    action = line["file"]["deltaSingleAction"][kind]
    assert {name: value for name, value in action.items() if "Time" in name} == expected


@pytest.mark.parametrize(
    ("values", "is_extended"),
    [
        ({}, True),
        ({"size": 0}, True),
        ({"size": None}, False),
        ({"partition_values": None}, False),
    ],
)
def test_a_remove_says_whether_it_describes_its_file(values: dict[str, Any], is_extended: bool) -> None:
    (line,) = of_delta(change("remove", "a", **values))
    assert ("extendedFileMetadata" in line["file"]["deltaSingleAction"]["remove"]) is is_extended


def test_deletion_vectors_are_inline_or_signed() -> None:
    rows = [
        change("add", "a", deletion_vector=INLINE),
        change("remove", "b", deletion_vector=STORED),
        change("add", "c"),
    ]
    inline, stored, none = of_delta(*rows, signed={1: ("memory://lake/v.bin", "https://v")})
    assert inline["file"]["deltaSingleAction"]["add"]["deletionVector"] == INLINE
    assert inline["file"]["deletionVectorFileId"] == hashlib.sha256(b"^Bg9^0").hexdigest()
    vector = stored["file"]["deltaSingleAction"]["remove"]["deletionVector"]
    assert vector == {**STORED, "storageType": "p", "pathOrInlineDv": "https://v"}
    assert stored["file"]["deletionVectorFileId"] == hashlib.sha256(b"memory://lake/v.bin").hexdigest()
    assert "deletionVectorFileId" not in none["file"]
