from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest
from obstore.store import S3Store
from pydantic import ValidationError

from sluicegate.api import Catalog, ConfigurationError, NotFound, Unavailable
from sluicegate_paths.catalog import KnownDelta

if TYPE_CHECKING:
    from catalog_adapters.paths.tests.conftest import Lake

Build = Callable[[Mapping[str, str]], Catalog]


@pytest.mark.parametrize("identifier", ["s3://lake/eu/orders/", "s3://lake/eu/orders"])
async def test_a_delta_table_is_its_location_and_looked_up_once(
    build: Build, lake: Lake, identifier: str
) -> None:
    lake.put("eu/orders/_delta_log/0.json", "eu/orders/metadata/v1.metadata.json")
    catalog = build({})
    for _ in range(3):
        table = await catalog.load_table(identifier)
        assert (table.location, table.format) == ("s3://lake/eu/orders", "delta")
        assert (table.vendor, table.metadata_location) == (None, None)
    assert lake.opened == ["s3://lake/eu/orders"]


async def test_a_location_without_a_table_is_left_to_the_reader_and_looked_up_again(
    build: Build, lake: Lake
) -> None:
    catalog = build({})
    assert (await catalog.load_table("s3://lake/eu/orders")).format == "delta"
    lake.put("eu/orders/metadata/v1.metadata.json")
    assert (await catalog.load_table("s3://lake/eu/orders")).format == "iceberg"


async def test_a_location_that_no_storage_serves_is_a_fault_of_the_configuration(build: Build) -> None:
    with pytest.raises(ConfigurationError, match="no configured storage"):
        await build({}).load_table("gs://nobody/serves/this")


async def test_an_id_is_the_same_for_every_spelling_and_other_for_every_table(build: Build) -> None:
    catalog = build({})
    spellings = ("s3://lake/t", "s3://lake/t/", "s3://lake/t//", "s3://lake/t2")
    ids = [(await catalog.load_table(spelling)).id for spelling in spellings]
    assert ids[0] == ids[1] == ids[2] != ids[3]
    assert uuid.UUID(ids[3]).version == 5
    assert ids[0] == "4395adaa-1b04-5a91-9cd8-42176303c11c"


@pytest.mark.parametrize("identifier", ["orders", "", "s3:lake", "/srv/../etc/passwd", "s3:///x"])
async def test_what_is_no_location_is_not_found_and_not_repeated(build: Build, identifier: str) -> None:
    with pytest.raises(NotFound, match="not a valid location") as refused:
        await build({}).load_table(identifier)
    assert refused.value.detail == identifier


async def test_schemas_are_the_configured_folders(build: Build) -> None:
    assert await build({"us": "s3://lake/us/", "eu": "s3://lake/eu"}).list_schemas() == ["eu", "us"]
    assert await build({}).list_schemas() == []


async def test_a_schemas_tables_are_its_folders_with_a_log(build: Build, lake: Lake) -> None:
    lake.put(
        "eu/orders/_delta_log/00000000000000000000.json",
        "eu/orders/part-0.parquet",
        "eu/awk ward%20#1/_delta_log/00000000000000000007.checkpoint.parquet",
        "eu/visits/_delta_log/00000000000000000000.json",
        "eu/visits/_delta_log/00000000000000000001.json",
        "eu/plain/part-0.parquet",
        "eu/deep/er/_delta_log/00000000000000000000.json",
        "eu/other/_delta_log_of_old/0.json",
        "eu/_delta_log",
        "europe/far/_delta_log/00000000000000000000.json",
        "us/orders/_delta_log/00000000000000000000.json",
    )
    catalog = build({"eu": "s3://lake/eu/", "all": "s3://lake"})
    assert await catalog.list_tables("eu") == ["awk ward%20#1", "orders", "visits"]
    assert await catalog.list_tables("all") == []


async def test_many_tables_are_listed_sorted(build: Build, lake: Lake) -> None:
    names = [f"t{number:03}" for number in range(100)]
    lake.put(*(f"eu/{name}/_delta_log/0.json" for name in reversed(names)))
    assert await build({"eu": "s3://lake/eu/"}).list_tables("eu") == names


async def test_a_listed_table_loads_by_its_identifier(build: Build, lake: Lake) -> None:
    lake.put("eu/orders/_delta_log/0.json")
    catalog = build({"eu": "s3://lake/eu/"})
    (name,) = await catalog.list_tables("eu")
    table = await catalog.load_table(catalog.identifier("eu", name))
    assert table.location == "s3://lake/eu/orders"


async def test_a_table_that_may_not_be_opened_is_not_listed(build: Build, lake: Lake) -> None:
    lake.put("eu/orders/_delta_log/0.json", "eu/walled/_delta_log/0.json")
    assert await build({"eu": "s3://lake/eu/"}).list_tables("eu") == ["orders"]


async def test_an_empty_or_missing_folder_has_no_tables(build: Build) -> None:
    assert await build({"eu": "s3://lake/nothing/here"}).list_tables("eu") == []


async def test_an_unknown_schema_is_not_found(build: Build) -> None:
    catalog = build({"eu": "s3://lake/eu/"})
    with pytest.raises(NotFound, match="catalog 'raw' has no schema 'us'"):
        await catalog.list_tables("us")
    with pytest.raises(NotFound, match="catalog 'raw' has no schema 'us'"):
        catalog.identifier("us", "orders")


async def test_a_schema_that_no_storage_serves_says_what_to_add(build: Build) -> None:
    with pytest.raises(Unavailable, match="no configured storage serves schema 'eu' of catalog 'raw'"):
        await build({"eu": "s3://pond/eu/"}).list_tables("eu")


async def test_a_dead_store_makes_the_schema_unavailable(build: Build, lake: Lake) -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        lake.store = S3Store(
            "lake",
            endpoint=f"http://127.0.0.1:{nobody_listens.getsockname()[1]}",
            region="eu-west-1",
            skip_signature=True,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )
        with pytest.raises(
            Unavailable, match="schema 'eu' of catalog 'raw' cannot be listed"
        ) as failed:
            await build({"eu": "s3://lake/eu/"}).list_tables("eu")
        with pytest.raises(Unavailable, match="the table's storage does not respond") as unknown:
            await build({}).load_table("s3://lake/eu/orders")
    for refused in (failed, unknown):
        assert "127.0.0.1" not in refused.value.message


@pytest.mark.parametrize("folder", ["eu", "s3:///eu", "/srv/../eu", "file://eu"])
def test_a_schema_that_is_no_location_is_refused_at_start(build: Build, folder: str) -> None:
    with pytest.raises(ValidationError, match="location"):
        build({"eu": folder})


def test_a_location_is_known_as_delta_for_a_while_only() -> None:
    now = 0.0
    known = KnownDelta(lambda: now)
    known.add("s3://lake/orders")
    seen = {}
    for now in (0.0, 299.0, 300.0):
        seen[now] = "s3://lake/orders" in known
    assert seen == {0.0: True, 299.0: True, 300.0: False}
    assert "s3://lake/visits" not in known
