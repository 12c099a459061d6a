"""A range of versions as one recipient sees it: its head, historical lines, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.gateways.memory_gateway import memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import (
    FEED,
    METADATA,
    PROTOCOL,
    WITH_VECTORS,
    Made,
    change,
    changes,
)

from sluicegate.api import PermissionDenied, SharedTable, UnsupportedOperation
from sluicegate.protocols.delta_sharing.changes.request import Bound, ChangesRequest
from sluicegate.protocols.delta_sharing.changes.view import ChangeView, view_changes
from sluicegate.protocols.delta_sharing.negotiation import parse
from sluicegate.protocols.delta_sharing.request import ResponseOptions
from sluicegate.tables.changes import Changes, TableState
from sluicegate.tables.snapshot import TableMetadata, TableProtocol

DELTA = "responseformat=delta;readerfeatures=deletionvectors"
VECTOR = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
ON = {"delta.enableChangeDataFeed": "true"}
ID, NAME = schema_field("id", "long"), schema_field("name", "string")
WIDER = table_metadata([ID, NAME], **ON)
OTHER = table_metadata([schema_field("id", "string")], **ON)
THREE = changes(Made(1), Made(2), Made(3))


async def view(
    range_: Changes = THREE,
    header: str | None = None,
    *,
    what: Any = "feed",
    shared: SharedTable | None = None,
    latest: TableState | None = None,
    **options: Any,
) -> ChangeView:
    table = await memory_gateway().open(shared or shared_table())
    request = ChangesRequest(what, Bound(1), Bound(), **options)
    newest = latest or TableState(9, range_.start.protocol, range_.start.metadata)
    return view_changes(ACME, table, request, ResponseOptions(parse(header)), range_, newest)


def parsed(lines: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def version_and_schema(line: dict[str, Any]) -> tuple[int, list[str]]:
    value = line["metaData"]
    schema = json.loads(value.get("schemaString") or value["deltaMetadata"]["schemaString"])
    return value["version"], [field["name"] for field in schema["fields"]]


async def test_a_feed_starts_with_the_latest_schema_if_that_only_adds_columns() -> None:
    latest = TableState(9, PROTOCOL, WIDER)
    protocol, metadata = parsed((await view(latest=latest)).head())
    assert protocol == {"protocol": {"minReaderVersion": 1}}
    assert version_and_schema(metadata) == (9, ["id", "name"])


async def test_a_feed_starts_with_the_last_schema_of_the_range_otherwise() -> None:
    wider = changes(Made(1), Made(2, metadata=WIDER), Made(3))
    _, metadata = parsed((await view(wider, latest=TableState(9, PROTOCOL, OTHER))).head())
    assert version_and_schema(metadata) == (3, ["id", "name"])


async def test_a_latest_version_that_needs_more_of_its_reader_is_not_shown() -> None:
    zoned = table_metadata([ID, schema_field("at", "timestamp_ntz")], **ON)
    ntz = TableProtocol(3, 7, ("timestampNtz",), ("timestampNtz",))
    _, metadata = parsed((await view(latest=TableState(9, ntz, zoned))).head())
    assert version_and_schema(metadata) == (3, ["id"])


async def test_historical_metadata_start_with_the_first_version() -> None:
    wider = changes(Made(1), Made(2, metadata=WIDER), Made(3))
    found = await view(wider, historical_metadata=True)
    assert version_and_schema(parsed(found.head())[1]) == (1, ["id"])
    of_commits = [found.lines_of(commit) for commit in wider.commits]
    assert [len(lines.splitlines()) for lines in of_commits] == [0, 1, 0]
    assert version_and_schema(parsed(of_commits[1])[0]) == (2, ["id", "name"])


async def test_without_historical_lines_commits_have_none() -> None:
    both = changes(Made(1), Made(2, metadata=WIDER, protocol=TableProtocol(1, 4)))
    found = await view(both, DELTA)
    assert [found.lines_of(commit) for commit in both.commits] == [b"", b""]


async def test_the_first_commit_has_no_historical_lines() -> None:
    both = changes(Made(1, metadata=FEED, protocol=PROTOCOL), Made(2))
    found = await view(both, DELTA, historical_metadata=True, historical_protocol=True)
    assert found.lines_of(both.commits[0]) == b""


UPGRADED = changes(
    Made(1),
    Made(2, [change("add", "a")], protocol=WITH_VECTORS),
    Made(3, [change("add", "a", deletion_vector=VECTOR)]),
)


async def test_one_protocol_line_covers_all_files() -> None:
    protocol = parsed((await view(UPGRADED, DELTA)).head())[0]["protocol"]
    assert protocol["deltaProtocol"] == {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors", "changeDataFeed"],
    }
    assert "version" not in protocol


async def test_historical_protocols_have_their_versions() -> None:
    found = await view(UPGRADED, DELTA, historical_protocol=True)
    first = parsed(found.head())[0]["protocol"]
    assert (first["version"], first["deltaProtocol"]["minReaderVersion"]) == (1, 1)
    (line,) = parsed(found.lines_of(UPGRADED.commits[1]))
    assert line["protocol"]["version"] == 2
    assert line["protocol"]["deltaProtocol"]["readerFeatures"] == ["deletionVectors"]


async def test_a_historical_protocol_declares_vectors_that_its_files_have() -> None:
    undeclared = changes(
        Made(1), Made(2, [change("add", "a", deletion_vector=VECTOR)]), Made(3, protocol=PROTOCOL)
    )
    found = await view(undeclared, DELTA, historical_protocol=True)
    assert parsed(found.head())[0]["protocol"]["deltaProtocol"]["readerFeatures"] == ["deletionVectors"]
    (line,) = parsed(found.lines_of(undeclared.commits[2]))
    assert line["protocol"]["deltaProtocol"]["minReaderVersion"] == 1


async def test_a_historical_protocol_declares_what_its_schemas_need() -> None:
    zoneless = table_metadata([schema_field("id", "timestamp_ntz")], **FEED.configuration)
    undeclared = changes(Made(1), Made(2, metadata=zoneless), Made(3, metadata=FEED, protocol=PROTOCOL))
    header = "responseformat=delta;readerfeatures=timestampntz"
    found = await view(undeclared, header, historical_protocol=True)
    assert parsed(found.head())[0]["protocol"]["deltaProtocol"]["readerFeatures"] == ["timestampNtz"]
    (line,) = parsed(found.lines_of(undeclared.commits[2]))
    assert line["protocol"]["deltaProtocol"]["minReaderVersion"] == 1


async def test_a_protocol_declares_vectors_of_the_commit_that_changes_it() -> None:
    upgraded = changes(
        Made(1), Made(2, [change("add", "a", deletion_vector=VECTOR)], protocol=TableProtocol(1, 4))
    )
    found = await view(upgraded, DELTA, historical_protocol=True)
    assert parsed(found.head())[0]["protocol"]["deltaProtocol"]["minReaderVersion"] == 1
    (line,) = parsed(found.lines_of(upgraded.commits[1]))
    assert line["protocol"]["deltaProtocol"]["readerFeatures"] == ["deletionVectors"]


async def test_the_parquet_format_has_no_historical_protocol() -> None:
    upgraded = changes(Made(1), Made(2, protocol=TableProtocol(1, 4)))
    found = await view(upgraded, historical_protocol=True)
    assert parsed(found.head())[0] == {"protocol": {"minReaderVersion": 1}}
    assert found.lines_of(upgraded.commits[1]) == b""


@pytest.mark.parametrize(
    ("header", "format_", "hash_name"),
    [
        (None, "parquet", "md5"),
        (DELTA, "delta", "sha256"),
        ("responseformat=delta,parquet", "parquet", "md5"),
    ],
)
async def test_the_format_is_negotiated(header: str | None, format_: str, hash_name: str) -> None:
    found = await view(header=header)
    assert (found.agreement.response_format, found.hash_name) == (format_, hash_name)


async def test_deletion_vectors_of_any_commit_need_the_delta_format() -> None:
    assert (await view(UPGRADED, DELTA)).agreement.reader_features == ("deletionVectors",)
    with pytest.raises(UnsupportedOperation, match="uses deletionVectors"):
        await view(UPGRADED)


async def test_tables_with_directory_access_alone_have_no_changes_by_url() -> None:
    with pytest.raises(UnsupportedOperation, match="directory access"):
        await view(shared=shared_table(access_modes=("dir",)))


OFF = table_metadata([ID], **{"delta.enableChangeDataFeed": "FALSE"})


@pytest.mark.parametrize(
    ("range_", "version"),
    [
        (changes(Made(1), metadata=METADATA), 1),
        (changes(Made(1), Made(2, metadata=OFF), Made(3, metadata=FEED)), 2),
    ],
)
async def test_a_feed_that_was_off_is_refused_but_not_a_stream(range_: Changes, version: int) -> None:
    with pytest.raises(UnsupportedOperation, match=f"was off in version {version}: request a range"):
        await view(range_)
    assert (await view(range_, what="data")).shown.version == 9


async def test_the_property_of_the_feed_is_case_insensitive() -> None:
    upper = table_metadata([ID], **{"delta.enableChangeDataFeed": "True"})
    assert (await view(changes(Made(1), metadata=upper))).shown.version == 9


async def test_a_range_with_incomplete_removes_names_the_last_of_them() -> None:
    incomplete = changes(Made(1, incomplete=True), Made(2, incomplete=True), Made(3))
    with pytest.raises(
        UnsupportedOperation, match=r"version 2 of the table removes .* after version 2"
    ):
        await view(incomplete)


@pytest.mark.parametrize(("end", "is_refused"), [(10_002, False), (10_003, True)])
async def test_versions_far_apart_are_refused_in_delta_format(end: int, is_refused: bool) -> None:
    sparse = changes(Made(1), Made(end))
    assert (await view(sparse)).agreement.response_format == "parquet"
    if is_refused:
        with pytest.raises(UnsupportedOperation, match=f"each number from 1 to {end}, of which 2 are"):
            await view(sparse, DELTA)
    else:
        assert (await view(sparse, DELTA)).agreement.response_format == "delta"


def by(column: str) -> TableMetadata:
    return table_metadata([schema_field(column, "string")], [column], **ON)


async def test_each_version_has_the_condition_of_its_state() -> None:
    mapped = table_metadata(
        [schema_field("country", "string", **{"delta.columnMapping.physicalName": "c1"})],
        ["country"],
        **ON,
        **{"delta.columnMapping.mode": "name"},
    )
    german = shared_table(partition_filter="country = 'DE'")
    range_ = changes(
        Made(2),
        Made(3),
        Made(5, metadata=mapped),
        Made(6),
        metadata=by("country"),
        protocol=TableProtocol(2, 5),
    )
    found = await view(range_, "responseformat=delta;readerfeatures=columnmapping", shared=german)
    for version, key in ((2, "country"), (3, "country"), (4, "country"), (5, "c1"), (6, "c1")):
        wanted = found.shared_in(version)
        assert wanted is not None
        assert (wanted({"country": "DE"}), wanted({"c1": "DE"})) == (key == "country", key == "c1")


async def test_all_partitions_are_shared_without_a_filter() -> None:
    assert (await view()).shared_in(2) is None


@pytest.mark.parametrize(
    ("metadata", "filter_", "error"),
    [
        (by("day"), "country = 'DE'", UnsupportedOperation),
        (by("country"), "country = recipient.country", PermissionDenied),
    ],
)
async def test_a_filter_that_does_not_apply_is_refused(
    metadata: TableMetadata, filter_: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await view(changes(Made(1), metadata=metadata), shared=shared_table(partition_filter=filter_))


@pytest.mark.parametrize(
    ("range_", "is_partitioned"),
    [(THREE, False), (changes(Made(1), Made(2, metadata=by("day"))), True)],
)
async def test_one_version_with_partitions_makes_the_range_partitioned(
    range_: Changes, is_partitioned: bool
) -> None:
    assert (await view(range_)).partitioned is is_partitioned
