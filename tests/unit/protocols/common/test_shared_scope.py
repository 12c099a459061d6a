"""The limits of a shared table: history, change feed, first version, partitions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.gateways.memory_gateway import shared_table
from support.gateways.memory_grants import ACME
from support.tables.filesets import file_set, schema_field, table_metadata

from sluicegate.access.partition_filter import check_shared_in_part
from sluicegate.api import (
    CatalogTable,
    InvalidRequest,
    PermissionDenied,
    SharedTable,
    SluicegateError,
    UnsupportedOperation,
)
from sluicegate.protocols.common import shared_scope
from sluicegate.protocols.common.shared_scope import (
    check_change_feed,
    check_history,
    check_version,
    shared_partitions,
    visible,
)
from sluicegate.tables.partitions import in_partitions, partition_count
from sluicegate.tables.snapshot import FileSet

BY_COUNTRY = table_metadata([schema_field("country", "string")], ["country"])
GERMAN = shared_table(partition_filter="country = 'DE'")
MINE = shared_table(partition_filter="country = recipient.country")


@pytest.mark.parametrize(
    ("check", "shared", "refused", "error", "says"),
    [
        (
            lambda table: check_history(table, "time travel"),
            {"history": True},
            {"history": False},
            UnsupportedOperation,
            "time travel cannot be used on sales.eu.orders",
        ),
        (
            check_change_feed,
            {"change_feed": True},
            {"history": True},
            UnsupportedOperation,
            "the change data feed of sales.eu.orders is not shared",
        ),
        (
            lambda table: check_version(table, 3),
            {"start_version": 3},
            {"start_version": 4},
            InvalidRequest,
            "version 3 is not shared: the first shared version of sales.eu.orders is 4",
        ),
    ],
    ids=["history", "change feed", "first version"],
)
def test_a_limit_lets_what_is_shared_pass(
    check: Callable[[SharedTable], None],
    shared: dict[str, Any],
    refused: dict[str, Any],
    error: type[SluicegateError],
    says: str,
) -> None:
    check(shared_table(**shared))
    with pytest.raises(error, match=says):
        check(shared_table(**refused))


async def test_without_a_filter_all_files_are_visible() -> None:
    files = file_set([('{"country":"DE"}', None)])
    assert shared_partitions(shared_table(), ACME, BY_COUNTRY) is None
    assert await visible(shared_table(), ACME, BY_COUNTRY, files) is files


async def test_only_files_of_the_shared_partition_are_visible() -> None:
    values = ['{"country":"DE"}', '{"country":"FR"}', '{"country":null}', '{"country":"de"}', "{}"]
    files = file_set([(value, None) for value in (*values, values[0])])
    (batch,) = (await visible(GERMAN, ACME, BY_COUNTRY, files)).batches(10)
    assert batch.column("path").to_pylist() == ["0", "5"]


async def test_many_partitions_are_decided_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    values = ['{"country":"DE"}', '{"country":"FR"}', '{"country":"FR"}']
    files = file_set([(value, None) for value in values])
    threads = []

    def noted(*arguments: Any) -> FileSet:
        threads.append(threading.get_ident())
        return in_partitions(*arguments)

    monkeypatch.setattr(shared_scope, "in_partitions", noted)
    for few in (partition_count(files), partition_count(files) - 1):
        monkeypatch.setattr(shared_scope, "_FEW_PARTITIONS", few)
        assert len(await visible(GERMAN, ACME, BY_COUNTRY, files)) == 1
    here, elsewhere = threads
    assert here == threading.get_ident() != elsewhere


def test_all_terms_of_a_filter_must_hold() -> None:
    table = shared_table(partition_filter="country = 'DE' AND day = '1'")
    metadata = table_metadata([], ["country", "day"])
    wanted = shared_partitions(table, ACME, metadata)
    assert wanted is not None
    assert wanted({"country": "DE", "day": "1", "hour": "2"})
    assert not wanted({"country": "DE", "day": "2"})
    assert not wanted({"country": "DE"})


@pytest.mark.parametrize(
    ("column_type", "value", "same", "others"),
    [
        ("boolean", "true", ["true", "TRUE", "t", "1"], ["false", "0", ""]),
        ("integer", "7", ["7", "07", "+7"], ["70", "-7", "x"]),
        ("decimal(10,2)", "1", ["1", "1.0", "1.00"], ["1.01", "10"]),
        ("date", "2024-02-09", ["2024-02-09", "2024-2-9"], ["2024-02-10"]),
        (
            "timestamp",
            "2024-02-29 12:00:00",
            ["2024-02-29 12:00:00", "2024-02-29T12:00:00.000000Z", "2024-02-29 13:00:00+01:00"],
            ["2024-02-29 13:00:00", "2024-02-29T12:00:00.000001Z"],
        ),
        ("string", "TRUE", ["TRUE"], ["true", "1", " TRUE"]),
    ],
)
def test_values_are_compared_and_not_their_spellings(
    column_type: str, value: str, same: list[str], others: list[str]
) -> None:
    metadata = table_metadata([schema_field("part", column_type)], ["part"])
    table = shared_table(partition_filter=f"part = '{value}'")
    wanted = shared_partitions(table, ACME, metadata)
    assert wanted is not None
    assert [text for text in (*same, *others) if wanted({"part": text})] == same
    assert not wanted({"part": None})


def test_a_property_of_the_recipient_is_the_wanted_value() -> None:
    wanted = shared_partitions(MINE, replace(ACME, properties={"country": "FR"}), BY_COUNTRY)
    assert wanted is not None
    assert wanted({"country": "FR"})
    assert not wanted({"country": "DE"})


@pytest.mark.parametrize("properties", [{}, {"Country": "FR"}])
def test_a_recipient_without_the_property_is_denied(properties: dict[str, str]) -> None:
    with pytest.raises(PermissionDenied, match="property 'country', which you do not have"):
        shared_partitions(MINE, replace(ACME, properties=properties), BY_COUNTRY)


def test_an_empty_property_is_a_value() -> None:
    wanted = shared_partitions(MINE, replace(ACME, properties={"country": ""}), BY_COUNTRY)
    assert wanted is not None
    assert wanted({"country": ""})


@pytest.mark.parametrize("partitions", [[], ["day"]])
def test_a_version_without_the_column_as_partition_is_not_served(partitions: list[str]) -> None:
    metadata = table_metadata([schema_field("country", "string")], partitions)
    with pytest.raises(UnsupportedOperation, match="column 'country', which does not partition"):
        shared_partitions(GERMAN, ACME, metadata)


def test_a_mapped_column_is_found_by_its_physical_name() -> None:
    field = schema_field("Country", "string", **{"delta.columnMapping.physicalName": "col-1"})
    metadata = table_metadata([field], ["Country"], **{"delta.columnMapping.mode": "name"})
    wanted = shared_partitions(GERMAN, ACME, metadata)
    assert wanted is not None
    assert wanted({"col-1": "DE"})
    assert not wanted({"Country": "DE"})


REQUIRING = replace(
    BY_COUNTRY, configuration={"sluicegate.recipientFilter": "`Country` = recipient.country"}
)


@pytest.mark.parametrize(
    ("text", "is_shared"),
    [
        ("country = recipient.country", True),
        ("`country` = recipient.country", True),
        (None, False),
        ("country = 'DE'", False),
        ("country = recipient.region", False),
    ],
)
def test_a_table_with_rows_of_several_recipients_needs_its_filter(
    text: str | None, is_shared: bool
) -> None:
    table = shared_table(partition_filter=text)
    german = replace(ACME, properties={"country": "DE", "region": "EU"})
    if is_shared:
        assert shared_partitions(table, german, REQUIRING) is not None
        return
    with pytest.raises(UnsupportedOperation, match="rows of several recipients") as refused:
        shared_partitions(table, german, REQUIRING)
    assert refused.value.detail == "set partition_filter: `Country` = recipient.country"


def test_a_filter_that_cannot_be_parsed_shares_nothing() -> None:
    broken = replace(BY_COUNTRY, configuration={"sluicegate.recipientFilter": "country LIKE 'D'"})
    with pytest.raises(UnsupportedOperation, match="rows of several recipients"):
        shared_partitions(MINE, ACME, broken)


@pytest.mark.parametrize(
    "location", ["s3://lake/orders.by-recipient", "s3://lake/orders.by-recipient/"]
)
def test_a_directory_of_several_recipients_needs_a_filter(location: str) -> None:
    source = CatalogTable("1", "delta", location)
    check_shared_in_part(MINE, source)
    check_shared_in_part(shared_table(), replace(source, location="s3://lake/orders"))
    with pytest.raises(UnsupportedOperation, match="rows of several recipients"):
        check_shared_in_part(shared_table(access_modes=("url", "dir")), source)
