from __future__ import annotations

import json
from typing import Any

import pytest
from support.tables.deltalog import SCHEMA, Action, DeltaFolder, add, metadata, protocol
from support.tables.snapshots import latest

from sluicegate.api.errors import TableUnreadable
from sluicegate.tables.delta import DeltaFormat


@pytest.mark.parametrize(
    "features",
    [
        ["deletionVectors", "columnMapping", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"],
        ["typeWidening", "variantType", "variantShredding"],
        ["typeWidening-preview", "variantType-preview", "variantShredding-preview"],
    ],
)
async def test_known_reader_features_are_read(folder: DeltaFolder, features: list[str]) -> None:
    folder.commit(0, protocol(3, *features), metadata(), add("a"))
    assert (await latest(folder)).protocol.reader_features == tuple(features)


@pytest.mark.parametrize("reader", [1, 2])
async def test_reader_versions_without_features_are_read(folder: DeltaFolder, reader: int) -> None:
    folder.commit(0, protocol(reader), metadata())
    assert (await latest(folder)).protocol.reader_features is None


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            protocol(3, "deletionVectors", "timeTravel", "aFeature"),
            "unknown to the gateway: aFeature, timeTravel",
        ),
        (protocol(4), "reader version 4; the gateway reads versions 1 to 3"),
        (protocol(0), "reader version 0"),
        (protocol(3, "catalogManaged"), "share it from that catalog, not by its path"),
        (protocol(3, "catalogOwned-preview"), "share it from that catalog, not by its path"),
    ],
)
async def test_what_the_gateway_does_not_understand_is_refused_by_name(
    folder: DeltaFolder, action: dict[str, object], message: str
) -> None:
    folder.commit(0, protocol(), metadata())
    first = await latest(folder)
    folder.commit(1, action)
    with pytest.raises(TableUnreadable, match=message):
        await latest(folder)
    with pytest.raises(TableUnreadable, match=message):
        await latest(folder, first)


def column(name: str, kind: Any, **noted: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": noted}


def with_type(kind: Any, **noted: Any) -> Action:
    """Metadata with a column of a type, and a comment that looks like one."""
    action = metadata()
    schema = json.loads(SCHEMA)
    schema["fields"].append(column("x", kind, **noted))
    action["metaData"]["schemaString"] = json.dumps(schema)
    return action


def of_provider(name: str) -> Action:
    action = metadata()
    action["metaData"]["format"]["provider"] = name
    return action


NESTED = {"type": "array", "elementType": "void", "containsNull": True}


def partitioned_by(*names: str) -> Action:
    """Metadata with these partition columns and the column `id`."""
    action = metadata()
    action["metaData"]["partitionColumns"] = list(names)
    return action


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (with_type(NESTED), "a list or map of the type void, .*its owner must give"),
        (with_type({"type": "struct", "fields": [column("a", NESTED)]}), "of the type void"),
        (partitioned_by("region"), "partitioned by a column that its schema lacks, 'region'"),
        (partitioned_by("ID", "region"), "schema lacks, 'region': its owner must correct"),
        (of_provider("orc"), "its files are 'orc': only tables of Parquet files"),
        (add("b", size=-1), "names a file with a negative size, -1"),
    ],
)
async def test_what_no_recipient_could_read_is_refused_in_words(
    folder: DeltaFolder, action: Action, message: str
) -> None:
    folder.commit(0, protocol(), metadata(), add("a"))
    first = await latest(folder)
    folder.commit(1, action)
    with pytest.raises(TableUnreadable, match=message):
        await latest(folder)
    with pytest.raises(TableUnreadable, match=message):
        await latest(folder, first)
    changes = DeltaFormat().changes(folder.table(), folder.directory, first, 1, 1)
    with pytest.raises(TableUnreadable, match=message):
        [files async for files in (await changes).files("data", 1)]


async def test_a_negative_size_in_a_checkpoint_is_refused_in_words(folder: DeltaFolder) -> None:
    head = [protocol(), metadata()]
    folder.commit(1, add("b"))
    folder.parquet(f"{0:020}.checkpoint.parquet", [*head, add("a", size=-5)])
    with pytest.raises(TableUnreadable, match="names a file with a negative size, -5"):
        await latest(folder)


async def test_metadata_that_only_look_like_void_are_no_hindrance(folder: DeltaFolder) -> None:
    folder.commit(0, protocol(), with_type("long", type="void"), of_provider("Parquet"), add("a"))
    assert len((await latest(folder)).files) == 1
    folder.commit(1, with_type(NESTED))
    folder.commit(2, with_type("string"))
    assert (await latest(folder)).version == 2


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        ("void", None),
        ("null", None),
        ({"type": "struct", "fields": [column("a", "void")]}, None),
        (
            {"type": "struct", "fields": [column("a", "void"), column("null", "string")]},
            {"type": "struct", "fields": [column("null", "string")]},
        ),
        ({"type": "struct", "fields": []}, {"type": "struct", "fields": []}),
    ],
)
async def test_void_columns_which_no_file_has_are_left_out(
    folder: DeltaFolder, kind: Any, left: Any
) -> None:
    folder.commit(0, protocol(), with_type(kind, comment="void"), add("a"))
    fields = json.loads((await latest(folder)).metadata.schema_string)["fields"]
    expected = [] if left is None else [column("x", left, comment="void")]
    assert fields == [column("id", "long"), *expected]


async def test_partition_columns_are_found_in_any_case(folder: DeltaFolder) -> None:
    folder.commit(0, protocol(), partitioned_by("ID"), add("a", partitionValues={"id": "1"}))
    assert (await latest(folder)).metadata.partition_columns == ("ID",)
