"""Iceberg tables in folders: finding the newest metadata file, and ambiguous cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

from sluicegate.api import Catalog, NotFound, TableUnreadable

if TYPE_CHECKING:
    from catalog_adapters.paths.tests.conftest import Lake

Build = Callable[[Mapping[str, str]], Catalog]
ORDERS = "s3://lake/eu/orders"
CATALOGUED = "-0b9c1f9e-6d1c-4a2f-9b55-3f1f5a4f8a11"


@pytest.mark.parametrize(
    ("names", "hint", "newest"),
    [
        (["v1.metadata.json"], None, "v1.metadata.json"),
        (["v9.metadata.json", "v10.metadata.json"], None, "v10.metadata.json"),
        (["v1.metadata.json", "v2.gz.metadata.json"], None, "v2.gz.metadata.json"),
        (["v1.metadata.json", "v2.metadata.json.gz"], None, "v2.metadata.json.gz"),
        # Commits to file system tables are renames, so the hint can be outdated.
        (["v1.metadata.json", "v2.metadata.json"], "1", "v2.metadata.json"),
        (["00000-a.metadata.json", "00002-b.metadata.json"], None, "00002-b.metadata.json"),
        (["99999-a.metadata.json", "100000-b.metadata.json"], None, "100000-b.metadata.json"),
        ([f"00001{CATALOGUED}.gz.metadata.json"], None, f"00001{CATALOGUED}.gz.metadata.json"),
        (["00001-a.metadata.json", "00001-b.metadata.json"], "00001-a\n", "00001-a.metadata.json"),
        (["00001-a.metadata.json", "00002-b.metadata.json"], "gone", "00002-b.metadata.json"),
        # A table that moved from a catalog to a file system.
        (["00007-a.metadata.json", "v1.metadata.json"], None, "v1.metadata.json"),
    ],
)
async def test_the_newest_metadata_file_counts(
    build: Build, lake: Lake, names: list[str], hint: str | None, newest: str
) -> None:
    lake.put(*(f"eu/orders/metadata/{name}" for name in [*names, "snap-1.avro", "0a-m0.avro"]))
    lake.put("eu/orders/metadata/vain.metadata.json", "eu/orders/metadata/deep/v99.metadata.json")
    if hint is not None:
        lake.put("eu/orders/metadata/version-hint.text", content=hint.encode())
    table = await build({}).load_table(ORDERS)
    assert (table.format, table.location) == ("iceberg", ORDERS)
    assert table.metadata_location == f"{ORDERS}/metadata/{newest}"


async def test_a_new_snapshot_is_seen_at_once_and_the_id_stays(build: Build, lake: Lake) -> None:
    catalog = build({})
    lake.put("eu/orders/metadata/v1.metadata.json")
    first = await catalog.load_table(ORDERS)
    lake.put("eu/orders/metadata/v2.metadata.json")
    second = await catalog.load_table(ORDERS)
    assert second.metadata_location == f"{ORDERS}/metadata/v2.metadata.json"
    assert first.id == second.id


async def test_a_recreated_table_is_recognized_by_its_metadata_and_keeps_its_id(
    build: Build, lake: Lake
) -> None:
    catalog = build({})
    lake.put("eu/orders/metadata/v1.metadata.json", content=b"{}")
    first, again = [await catalog.load_table(ORDERS) for _ in range(2)]
    lake.put("eu/orders/metadata/v1.metadata.json", content=b"[]")
    second = await catalog.load_table(ORDERS)
    assert first == again
    assert (first.id, first.metadata_location) == (second.id, second.metadata_location)
    assert first.metadata_tag != second.metadata_tag


async def test_two_metadata_files_of_one_version_are_refused(build: Build, lake: Lake) -> None:
    lake.put("eu/orders/metadata/00001-a.metadata.json", "eu/orders/metadata/00001-b.metadata.json")
    with pytest.raises(TableUnreadable, match="2 metadata files of version 1") as refused:
        await build({}).load_table(ORDERS)
    assert "00001-a" not in refused.value.message


async def test_a_metadata_file_is_a_table_as_it_says_and_costs_no_request(
    build: Build, lake: Lake
) -> None:
    catalog = build({})
    named = [f"{ORDERS}/metadata/{name}.metadata.json" for name in ("v1", "v2", "00007-x.gz", "odd")]
    tables = [await catalog.load_table(name) for name in named]
    assert [table.metadata_location for table in tables] == named
    assert {(table.format, table.location) for table in tables} == {("iceberg", ORDERS)}
    assert len({table.id for table in tables}) == 4
    assert lake.opened == []


@pytest.mark.parametrize(
    "identifier",
    [
        "s3://lake/v1.metadata.json",
        "s3://lake/eu/orders/v1.metadata.json",
        "s3://metadata/v1.metadata.json",
    ],
)
async def test_a_metadata_file_elsewhere_does_not_tell_its_table(build: Build, identifier: str) -> None:
    with pytest.raises(NotFound, match="must be in the folder metadata/"):
        await build({}).load_table(identifier)


async def test_a_listing_holds_tables_of_both_formats(build: Build, lake: Lake) -> None:
    lake.put(
        "eu/delta/_delta_log/0.json",
        "eu/iceberg/metadata/v1.metadata.json",
        "eu/catalogued/metadata/00000-a.metadata.json",
        "eu/torn/metadata/00001-a.metadata.json",
        "eu/torn/metadata/00001-b.metadata.json",
        "eu/other/metadata/readme.json",
        "eu/plain/part-0.parquet",
    )
    catalog = build({"eu": "s3://lake/eu/"})
    assert await catalog.list_tables("eu") == ["catalogued", "delta", "iceberg", "torn"]
    table = await catalog.load_table(catalog.identifier("eu", "iceberg"))
    assert table.metadata_location == "s3://lake/eu/iceberg/metadata/v1.metadata.json"
