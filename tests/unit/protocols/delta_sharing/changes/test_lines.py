"""Lines of changed files in both response formats."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pyarrow as pa
import pytest
from support.tables.memory_tables import Made, Row, change, change_rows, time_of

from sluicegate.api import Presigned
from sluicegate.protocols.delta_sharing.changes import stream
from sluicegate.protocols.delta_sharing.changes.stream import RowGroup, SharedRows
from sluicegate.tables.changes import CHANGE_SCHEMA
from sluicegate.tables.partitions import PartitionValues

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
    written = stream.parquet(table(*rows), signed, at(len(rows)), hash_name, partitioned=partitioned)
    return parsed(written)


def of_delta(*rows: Row, signed: dict[int, tuple[str, str]] | None = None) -> list[dict[str, Any]]:
    return parsed(stream.delta(table(*rows), presigned(len(rows)), signed or {}, at(len(rows))))


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


def german(values: PartitionValues) -> bool:
    return values.get("country") == "DE"


def of_country(path: str, country: str | None) -> dict[str, object]:
    values = None if country is None else f'{{"country":"{country}"}}'
    return change("add", path, partition_values=values)


def paths(rows: SharedRows) -> list[str]:
    found: list[str] = rows.files.column("path").to_pylist()
    return found


MIXED = change_rows(
    of_country("a", "DE"), of_country("b", "FR"), of_country("c", "DE"), of_country("d", None),
    of_country("e", "DE"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("first", "expected"), [(0, ["a", "c", "e"]), (1, ["c", "e"]), (3, []), (9, [])]
)
def test_hidden_rows_do_not_count_for_the_position(first: int, expected: list[str]) -> None:
    rows = SharedRows.of(MIXED, german, first)
    assert (paths(rows), rows.first, len(rows)) == (expected, first, len(expected))


def test_without_a_condition_all_rows_are_shared() -> None:
    rows = SharedRows.of(MIXED, None, 2)
    assert paths(rows) == ["c", "d", "e"]


def test_a_condition_that_no_row_satisfies_leaves_none() -> None:
    assert len(SharedRows.of(MIXED, lambda values: False, 0)) == 0
    assert len(SharedRows.of(change_rows(), german, 0)) == 0


def test_the_rest_of_the_rows_continues_the_count() -> None:
    rest = SharedRows.of(MIXED, german, 1).behind(1)
    assert (paths(rest), rest.first) == (["e"], 2)


@pytest.mark.parametrize(
    ("names", "wanted", "taken"),
    [
        ("abcd", 2, 2),
        ("abcd", 4, 4),
        ("abcd", 9, 4),
        ("abbc", 2, 1),  # `b` stays together
        ("abbc", 3, 3),
        ("aabc", 1, 2),  # more than wanted, because one path is never split
        ("aaab", 2, 3),
        ("aaaa", 2, 4),
        ("abbb", 3, 1),
        ("", 1, 0),
    ],
)
def test_rows_of_one_path_stay_together(names: str, wanted: int, taken: int) -> None:
    rows = SharedRows.of(change_rows(*(change("add", name) for name in names)), None, 0)
    assert rows.together(wanted) == taken


def test_a_group_has_rows_of_several_commits_with_their_versions() -> None:
    group = RowGroup(4)
    group.add(Made(1).commit, change_rows(change("add", "a"), change("add", "b")))
    group.add(Made(3).commit, change_rows(change("remove", "a")))
    assert group.room == 1
    table = group.table()
    assert table.column("path").to_pylist() == ["a", "b", "a"]
    assert [table.schema, table.column("path").num_chunks] == [CHANGE_SCHEMA, 1]
    of_1 = f',"version":1,"timestamp":{time_of(1)}'
    assert group.at == [of_1, of_1, f',"version":3,"timestamp":{time_of(3)}']


def test_an_empty_group_is_an_empty_table() -> None:
    assert RowGroup(2).room == 2
    assert RowGroup(2).table().num_rows == 0
