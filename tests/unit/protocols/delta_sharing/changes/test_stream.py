"""The pages of a range: which rows, in which order, and where the next page continues."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.gateways.memory_gateway import MemoryGateway, memory_gateway, shared_table
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import EXPIRES, LAKE, url_of
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import Made, change, changes

from sluicegate.api import SharedTable, StorageError
from sluicegate.protocols.delta_sharing.changes.request import Bound, ChangesRequest
from sluicegate.protocols.delta_sharing.changes.stream import ChangeStream
from sluicegate.protocols.delta_sharing.changes.version_range import Position
from sluicegate.protocols.delta_sharing.changes.view import view_changes
from sluicegate.protocols.delta_sharing.negotiation import parse
from sluicegate.protocols.delta_sharing.query.selection import BATCH_ROWS, FIRST_BATCH_ROWS
from sluicegate.protocols.delta_sharing.request import ResponseOptions
from sluicegate.tables.changes import Changes, TableState

DELTA = "responseformat=delta;readerfeatures=deletionvectors"
INLINE = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
FILE = f"{LAKE}/orders/v.bin"
STORED = {"storageType": "p", "pathOrInlineDv": FILE, "sizeInBytes": 1, "cardinality": 1}
Said = tuple[str, int, str]
START = Position(start=1, end=9, latest=9, version=1, index=0)


async def stream(
    range_: Changes,
    position: Position = START,
    *,
    gateway: MemoryGateway | None = None,
    header: str | None = None,
    shared: SharedTable | None = None,
    **options: Any,
) -> ChangeStream:
    gateway = gateway or memory_gateway()
    table = await gateway.open(shared or shared_table())
    request = ChangesRequest("feed", Bound(1), Bound(), **options)
    newest = TableState(9, range_.start.protocol, range_.start.metadata)
    view = view_changes(ACME, table, request, ResponseOptions(parse(header)), range_, newest)
    return ChangeStream(view, gateway.signer, position)


async def said(page: ChangeStream) -> list[Said]:
    """Kind, version and path of each line; of historical lines, the kind alone."""
    found: list[Said] = []
    async for part in page.lines():
        for text in part.splitlines():
            ((kind, value),) = json.loads(text).items()
            name = value.get("url", "").removeprefix(url_of(f"{LAKE}/orders/"))
            found.append((kind, value.get("version", 0), name))
    return found


async def pages(range_: Changes, size: int, **options: Any) -> list[list[Said]]:
    found: list[list[Said]] = []
    position: Position | None = START
    while position is not None:
        page = await stream(range_, position, max_files=size, **options)
        found.append(await said(page))
        position = page.rest
    return found


THREE = changes(
    Made(1, [change("add", "a"), change("add", "b")]),
    Made(2),
    Made(4, [change("remove", "a"), change("cdc", "c")]),
)
LINES: list[Said] = [("add", 1, "a"), ("add", 1, "b"), ("remove", 4, "a"), ("cdf", 4, "c")]


async def test_commits_follow_each_other_in_one_response() -> None:
    page = await stream(THREE)
    assert await said(page) == LINES
    assert page.rest is None
    assert page.expires_at == EXPIRES


async def test_a_range_without_files_has_no_lines() -> None:
    page = await stream(changes(Made(1), Made(2)))
    assert await said(page) == []
    assert (page.rest, page.expires_at) == (None, None)


async def test_all_urls_of_one_path_are_the_same_and_signed_once() -> None:
    gateway = memory_gateway()
    await said(await stream(THREE, gateway=gateway))
    assert gateway.storage.signed == [([f"{LAKE}/orders/{name}" for name in "abc"], None)]


async def test_the_first_part_is_small_and_later_ones_larger() -> None:
    count = FIRST_BATCH_ROWS + BATCH_ROWS + 1
    many = changes(Made(1, [change("add", f"{number:04}") for number in range(count)]))
    page = await stream(many)
    sizes = [len(part.splitlines()) async for part in page.lines()]
    assert sizes == [FIRST_BATCH_ROWS, BATCH_ROWS, 1]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1, [LINES[:1], LINES[1:2], LINES[2:3], LINES[3:]]),
        (2, [LINES[:2], LINES[2:]]),
        (3, [LINES[:3], LINES[3:]]),
        (4, [LINES]),
        (9, [LINES]),
    ],
)
async def test_pages_have_the_requested_size(size: int, expected: list[list[Said]]) -> None:
    assert await pages(THREE, size) == expected


async def test_the_rest_counts_the_rows_of_its_version() -> None:
    page = await stream(THREE, max_files=3)
    await said(page)
    assert page.rest == Position(start=1, end=9, latest=9, version=4, index=1)


async def test_rows_of_one_path_are_on_one_page() -> None:
    twice = changes(Made(1, [change(kind, "a") for kind in ("remove", "add")] + [change("add", "b")]))
    assert await pages(twice, 1) == [[("remove", 1, "a"), ("add", 1, "a")], [("add", 1, "b")]]
    split = changes(Made(1, [change("add", "b"), *(change(kind, "a") for kind in ("remove", "add"))]))
    assert await pages(split, 2) == [[("add", 1, "b")], [("remove", 1, "a"), ("add", 1, "a")]]


BY_COUNTRY = table_metadata(
    [schema_field("country", "string")], ["country"], **{"delta.enableChangeDataFeed": "true"}
)


def of_country(path: str, country: str) -> dict[str, Any]:
    return change("add", path, partition_values=f'{{"country":"{country}"}}')


async def test_only_rows_of_shared_partitions_are_signed() -> None:
    gateway = memory_gateway()
    range_ = changes(
        Made(1, [of_country("a", "FR"), of_country("b", "DE"), of_country("c", "FR")]),
        Made(2, [of_country("d", "DE")]),
        metadata=BY_COUNTRY,
    )
    shared = shared_table(partition_filter="country = 'DE'")
    found = await pages(range_, 1, shared=shared, gateway=gateway)
    assert found == [[("add", 1, "b")], [("add", 2, "d")]]
    signed = [location for locations, _ in gateway.storage.signed for location in locations]
    assert signed == [f"{LAKE}/orders/b", f"{LAKE}/orders/d"]


async def test_historical_lines_come_before_the_files_of_their_commit() -> None:
    range_ = changes(Made(1, [change("add", "a")]), Made(2, [change("add", "b")], metadata=BY_COUNTRY))
    page = await stream(range_, historical_metadata=True)
    assert await said(page) == [("add", 1, "a"), ("metaData", 2, ""), ("add", 2, "b")]


async def test_a_page_within_a_commit_does_not_repeat_its_historical_lines() -> None:
    range_ = changes(Made(1), Made(2, [change("add", "b"), change("add", "c")], metadata=BY_COUNTRY))
    found = await pages(range_, 1, historical_metadata=True)
    assert found == [[("metaData", 2, ""), ("add", 2, "b")], [("add", 2, "c")]]


async def test_deletion_vectors_are_signed_in_delta_format() -> None:
    gateway = memory_gateway()
    range_ = changes(
        Made(
            1,
            [
                change("add", "a", deletion_vector=INLINE),
                change("add", "b", deletion_vector=STORED),
                change("add", "c", deletion_vector=STORED),
            ],
        )
    )
    page = await stream(range_, gateway=gateway, header=DELTA)
    lines = [json.loads(text) async for part in page.lines() for text in part.splitlines()]
    vectors = [line["file"]["deltaSingleAction"]["add"]["deletionVector"] for line in lines]
    assert [each["pathOrInlineDv"] for each in vectors] == [
        "x",
        *[url_of(FILE)] * 2,
    ]
    assert gateway.storage.signed[1] == ([FILE], None)


async def test_a_store_that_cannot_sign_fails_the_stream() -> None:
    gateway = memory_gateway()
    gateway.storage.failure = StorageError("the store is down")
    page = await stream(THREE, gateway=gateway)
    with pytest.raises(StorageError, match="the store is down"):
        await said(page)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=5, unique=True), min_size=1, max_size=4),
    st.integers(1, 6),
)
async def test_pages_put_together_are_the_whole_response(history: list[list[str]], size: int) -> None:
    range_ = changes(
        *(
            Made(number, [change(kind, path) for path in paths for kind in ("remove", "add")])
            for number, paths in enumerate(history, start=1)
        )
    )
    gateway = memory_gateway()
    whole = await said(await stream(range_, gateway=gateway))
    found = await pages(range_, size, gateway=gateway)
    assert [line for page in found for line in page] == whole
    assert all(found[:-1])
    assert all(len(page) <= max(size, 2) for page in found)


BY_AMOUNT = [
    table_metadata(
        [schema_field("id", "long"), schema_field("amount", type_)],
        ["amount"],
        **{"delta.enableChangeDataFeed": "true"},
    )
    for type_ in ("integer", "decimal(12,2)")
]


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"historical_metadata": True}, ["1", "2.00"]), ({}, ["1.00", "2.00"])],
)
@pytest.mark.parametrize("header", [None, f"{DELTA},typewidening"])
async def test_partition_values_have_the_form_of_the_metadata_before_them(
    header: str | None, options: dict[str, Any], expected: list[str]
) -> None:
    """The column's type was widened between the versions."""
    made = [
        Made(version, [change("add", "x", partition_values=f'{{"amount":"0{version}.0"}}')])
        for version in (1, 2)
    ]
    made[1] = replace(made[1], metadata=BY_AMOUNT[1])
    page = await stream(changes(*made, metadata=BY_AMOUNT[0]), header=header, **options)
    found = [json.loads(line) async for part in page.lines() for line in part.splitlines()]
    files = [
        each["file"]["deltaSingleAction"]["add"] if "file" in each else each.get("add")
        for each in found
    ]
    assert [file["partitionValues"]["amount"] for file in files if file] == expected
