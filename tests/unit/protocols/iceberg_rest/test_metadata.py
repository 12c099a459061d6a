"""Metadata files are read once, decompressed, bounded, and checked."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import obstore
import orjson
import pytest
from obstore.exceptions import PermissionDeniedError
from support.gateways.iceberg_in_memory import METADATA, IcebergInMemory, shared
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import LAKE

from sluicegate.api import CatalogTable, StorageError, TableUnreadable
from sluicegate.protocols.iceberg_rest import metadata
from sluicegate.protocols.iceberg_rest.metadata import of_references

TEXT = orjson.dumps(METADATA)
LIMIT = 1000
UNREADABLE = "the table's metadata file cannot be read; the provider must repair the table"


@pytest.fixture
async def iceberg() -> IcebergInMemory:
    made = IcebergInMemory()
    await made.put("orders")
    return made


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "_LARGEST_BYTES", LIMIT)


async def read(made: IcebergInMemory, source: CatalogTable | None = None) -> bytes:
    found = source or made.tables["orders"]
    return await made.metadata.read(ACME, shared("orders"), found, found.metadata_location or "")


async def test_a_file_is_returned_as_it_is_written(iceberg: IcebergInMemory) -> None:
    spaced = json.dumps(METADATA, indent=2).encode()
    await iceberg.put("orders", spaced)
    assert await read(iceberg) == spaced


async def test_a_file_is_decompressed_whatever_its_name_is(iceberg: IcebergInMemory) -> None:
    await iceberg.put("orders", gzip.compress(TEXT))
    assert await read(iceberg) == TEXT


@pytest.mark.parametrize("location", ["mem://lake/orders/", f"{LAKE}/orders"])
async def test_the_root_and_the_file_can_have_different_forms(
    iceberg: IcebergInMemory, location: str
) -> None:
    assert await read(iceberg, replace(iceberg.tables["orders"], location=location)) == TEXT


async def test_a_file_is_read_once_until_its_name_is_used_again(iceberg: IcebergInMemory) -> None:
    await read(iceberg)
    other = dict(METADATA) | {"table-uuid": "other"}
    await iceberg.put("orders", other)
    assert await read(iceberg) == TEXT
    reused = replace(iceberg.tables["orders"], metadata_tag="2")
    assert await read(iceberg, reused) == orjson.dumps(other)
    anew = replace(iceberg.tables["orders"], id="another table")
    assert await read(iceberg, anew) == orjson.dumps(other)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TEXT[:-1], "unexpected end of data"),
        (b"", "empty document"),
        (b"[]", "there is no format-version"),
        (b"{}", "there is no format-version"),
        (b'{"format-version": "2"}', "there is no format-version"),
        (gzip.compress(TEXT, mtime=0)[:-9], "ended before the end-of-stream marker"),
        (gzip.compress(TEXT, mtime=0)[:-8] + b"\0" * 8, "CRC check failed"),
        (gzip.compress(b"{}", mtime=0), "there is no format-version"),
    ],
)
async def test_a_file_that_is_no_metadata_is_unreadable(
    iceberg: IcebergInMemory, content: bytes, reason: str
) -> None:
    await iceberg.put("orders", content)
    with pytest.raises(TableUnreadable) as refused:
        await read(iceberg)
    assert refused.value.message == UNREADABLE
    assert f"{LAKE}/orders/metadata/v1.json: " in (refused.value.detail or "")
    assert reason in (refused.value.detail or "")


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(("size", "readable"), [(LIMIT, True), (LIMIT + 1, False)])
async def test_the_largest_file_that_is_read(
    iceberg: IcebergInMemory, compress: Any, size: int, readable: bool
) -> None:
    await iceberg.put("orders", compress(b'{"format-version": 2}'.ljust(size)))
    if readable:
        assert len(await read(iceberg)) == size
    else:
        with pytest.raises(TableUnreadable) as refused:
            await read(iceberg)
        assert str(size if compress is bytes else LIMIT) in (refused.value.detail or "")


async def test_a_missing_file_is_unreadable_until_it_is_there(iceberg: IcebergInMemory) -> None:
    visits = iceberg.tables["visits"]
    with pytest.raises(TableUnreadable, match="a file of the table's metadata is missing"):
        await read(iceberg, visits)
    await iceberg.put("visits")
    assert await read(iceberg, visits) == TEXT


@pytest.mark.parametrize(
    ("reason", "status", "message"),
    [
        ("the key AKIA may not", 403, "has no access to the table's storage"),
        ("<Code>ExpiredToken</Code> of AKIA", 503, "does not respond; try again later"),
    ],
    ids=["lasting", "transient"],
)
async def test_what_a_store_refuses_is_private_and_repeated_only_if_that_helps(
    iceberg: IcebergInMemory, monkeypatch: pytest.MonkeyPatch, reason: str, status: int, message: str
) -> None:
    async def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionDeniedError(reason)

    monkeypatch.setattr(obstore, "get_async", refuse)
    with pytest.raises(StorageError, match=message) as refused:
        await read(iceberg)
    assert refused.value.status == status
    assert "AKIA" not in refused.value.message


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({}, [1, 3]),
        ({"refs": {}}, [3]),
        ({"refs": None}, [3]),
        ({"refs": {}, "current-snapshot-id": -1}, []),
        ({"refs": {}, "current-snapshot-id": None}, []),
        ({"refs": {"main": {"snapshot-id": 9}}, "current-snapshot-id": 9}, []),
        ({"snapshots": None}, []),
    ],
)
def test_snapshots_that_no_reference_names_are_left_out(
    changes: Mapping[str, Any], left: list[int]
) -> None:
    table = {**METADATA, **changes}
    found = json.loads(of_references(orjson.dumps(table)))
    assert [each["snapshot-id"] for each in found.pop("snapshots")] == left
    assert found == {key: value for key, value in table.items() if key != "snapshots"}


def test_metadata_without_snapshots_has_no_referenced_ones() -> None:
    assert json.loads(of_references(b'{"format-version": 1}')) == {"format-version": 1, "snapshots": []}
