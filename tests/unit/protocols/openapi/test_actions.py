"""The actions of lines are described as the gateway writes them, in both response formats."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from support.clients.described import SCHEMAS, fits

from sluicegate.api import Presigned
from sluicegate.protocols.delta_sharing.encoding import delta, parquet
from sluicegate.protocols.delta_sharing.encoding.ndjson import TableTotals, VersionStamp
from sluicegate.tables.snapshot import FILE_SCHEMA, TableMetadata, TableProtocol

INLINE = {"storageType": "i", "pathOrInlineDv": "^Bg9^0", "sizeInBytes": 34, "cardinality": 1}
FIRST = {"path": "a", "size": 10, "modification_time": 5, "partition_values": '{"d":"1","e":null}'}
SECOND = {
    **{"path": "b", "size": 10, "partition_values": "{}", "stats": "{}", "tags": '{"k":null}'},
    **{"deletion_vector": INLINE, "base_row_id": 0, "clustering_provider": "liquid"},
}
FILES = pa.Table.from_pylist([FIRST, SECOND], schema=FILE_SCHEMA)
SIGNED = Presigned(["https://lake/a", "https://lake/b"], 1_700_000_000_000)
STAMP = VersionStamp(3, 99)
BARE = TableMetadata("id-1", '{"type":"struct","fields":[]}', (), {})
FULL = TableMetadata("id-1", BARE.schema_string, ("d",), {"delta.enableChangeDataFeed": "true"})
PROTOCOLS = [
    TableProtocol(1, 2),
    TableProtocol(3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly")),
]


def inner(lines: bytes) -> list[Any]:
    """What the lines contain."""
    return [next(iter(json.loads(line).values())) for line in lines.splitlines()]


def metadata() -> list[tuple[str, Any]]:
    totals, access = TableTotals(20, 2), {"accessModes": ["dir"], "location": "s3://lake/t"}
    lines = [
        ("ParquetMetadata", parquet.metadata(BARE)),
        ("ParquetMetadata", parquet.metadata(FULL, totals=totals, version=4, access=access)),
        ("DeltaMetadata", delta.metadata(BARE, PROTOCOLS[0])),
        ("DeltaMetadata", delta.metadata(FULL, PROTOCOLS[1], totals=totals, version=4, access=access)),
    ]
    return [(schema, inner(line)[0]) for schema, line in lines]


def files() -> list[tuple[str, Any]]:
    return [
        *(("ParquetFile", each) for each in inner(parquet.files(FILES, SIGNED))),
        *(("ParquetFile", each) for each in inner(parquet.files(FILES, SIGNED, STAMP))),
        *(("DeltaFile", each) for each in inner(delta.files(FILES, SIGNED, {}))),
    ]


@pytest.mark.parametrize(("schema", "value"), [*metadata(), *files()])
def test_what_is_written_fits(schema: str, value: Any) -> None:
    assert fits(schema, value)


@pytest.mark.parametrize(("schema", "value"), [metadata()[0], metadata()[2], files()[0], files()[4]])
def test_no_member_that_is_always_written_can_be_missing(schema: str, value: dict[str, Any]) -> None:
    for member in value:
        optional = member in ("stats", "deletionVectorFileId")
        left = {key: each for key, each in value.items() if key != member}
        assert fits(schema, left) is optional, member


def test_the_protocol_of_the_parquet_format_is_always_1() -> None:
    [written] = inner(parquet.protocol())
    assert fits("ParquetProtocol", written)
    assert not fits("ParquetProtocol", {"minReaderVersion": 2})


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("version", [None, 3])
def test_protocols_of_the_delta_format(protocol: TableProtocol, version: int | None) -> None:
    [written] = inner(delta.protocol(protocol, version=version))
    assert fits("DeltaProtocol", written)
    assert not fits("DeltaProtocol", written["deltaProtocol"])


ADD = {"path": "https://lake/a", "partitionValues": {}, "size": 1, "dataChange": True}
REMOVE = {"path": "https://lake/a", "dataChange": True}


@pytest.mark.parametrize(
    ("action", "valid"),
    [
        ({"add": ADD | {"modificationTime": 5}}, True),
        ({"add": ADD}, False),
        ({"add": ADD | {"modificationTime": 5, "path": "not a URL"}}, False),
        ({"remove": REMOVE}, True),
        ({"remove": REMOVE | {"deletionTimestamp": 7, "extendedFileMetadata": True}}, True),
        ({"remove": {"path": "https://lake/a"}}, False),
        ({"cdc": ADD | {"dataChange": False}}, True),
        ({"cdc": REMOVE}, False),
        ({}, False),
        ({"add": ADD | {"modificationTime": 5}, "remove": REMOVE}, False),
        ({"txn": {}}, False),
    ],
)
def test_a_file_of_the_delta_format_wraps_one_action(action: dict[str, Any], valid: bool) -> None:
    wrapped = {"id": "0a", "expirationTimestamp": 1, "deltaSingleAction": action}
    assert fits("DeltaFile", wrapped) is valid


@pytest.mark.parametrize(
    ("vector", "valid"),
    [
        (INLINE, True),
        (INLINE | {"storageType": "p", "offset": 1}, True),
        (INLINE | {"storageType": "u"}, False),
        (INLINE | {"cardinality": -1}, False),
    ],
)
def test_deletion_vectors_are_inline_or_urls(vector: dict[str, Any], valid: bool) -> None:
    assert fits("DeletionVector", vector) is valid


def test_old_removes_have_neither_partition_values_nor_size() -> None:
    change = {
        **{"url": "https://lake/a", "id": "0a", "version": 1, "timestamp": 2},
        "expirationTimestamp": 3,
    }
    assert fits("ParquetChange", change)
    assert fits("ParquetChange", change | {"partitionValues": {"a": None}, "size": 1, "stats": "{}"})
    assert not fits("ParquetChange", change | {"id": "xyz"})
    assert "size" not in SCHEMAS["ParquetChange"]["required"]
