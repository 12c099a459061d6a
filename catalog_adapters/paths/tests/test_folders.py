"""Wildcards: each folder is a schema, and each of its folders is a table, including new folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from sluicegate.api import Catalog, NotFound

if TYPE_CHECKING:
    from catalog_adapters.paths.tests.conftest import Lake

Build = Callable[[Mapping[str, str]], Catalog]
LOG = "_delta_log/0.json"


@pytest.fixture(autouse=True)
def tables(lake: Lake) -> None:
    lake.put(
        f"eu/orders/{LOG}",
        f"eu/visits/current/{LOG}",
        f"us/orders/{LOG}",
        f"us/tables/visits/{LOG}",
        f"_staging/orders/{LOG}",
        f".trash/orders/{LOG}",
    )


@pytest.mark.parametrize(
    ("schemas", "listed"),
    [
        ({"*": "s3://lake/*/"}, {"eu": ["orders"], "us": ["orders"]}),
        ({"*": "s3://lake/*/*/"}, {"eu": ["orders"], "us": ["orders"]}),
        ({"lake_*": "s3://lake/*"}, {"lake_eu": ["orders"], "lake_us": ["orders"]}),
        ({"*_raw": "s3://lake/*/tables/"}, {"eu_raw": [], "us_raw": ["visits"]}),
        ({"eu": "s3://lake/eu/*/"}, {"eu": ["orders"]}),
        ({"eu": "s3://lake/eu/*/current"}, {"eu": ["visits"]}),
        ({"*": "s3://lake/*/*/current"}, {"eu": ["visits"], "us": []}),
        ({"*": "s3://lake/*/", "eu": "s3://lake/us/"}, {"eu": ["orders"], "us": ["orders"]}),
    ],
)
async def test_a_star_stands_for_each_folder(
    build: Build, schemas: dict[str, str], listed: dict[str, list[str]]
) -> None:
    catalog = build(schemas)
    names = await catalog.list_schemas()
    assert {name: await catalog.list_tables(name) for name in names} == listed


@pytest.mark.parametrize(
    ("schemas", "schema", "location"),
    [
        ({"*": "s3://lake/*/"}, "eu", "s3://lake/eu/orders"),
        ({"lake_*": "s3://lake/*/"}, "lake_eu", "s3://lake/eu/orders"),
        ({"*_raw": "s3://lake/*/tables"}, "us_raw", "s3://lake/us/tables/orders"),
        ({"eu": "s3://lake/eu/*/current"}, "eu", "s3://lake/eu/orders/current"),
        ({"*": "s3://lake/*/", "eu": "s3://lake/other/"}, "eu", "s3://lake/other/orders"),
    ],
)
def test_a_tables_identifier_is_its_location(
    build: Build, schemas: dict[str, str], schema: str, location: str
) -> None:
    assert build(schemas).identifier(schema, "orders") == location


async def test_new_folders_are_seen_at_once(build: Build, lake: Lake) -> None:
    catalog = build({"*": "s3://lake/*/"})
    assert await catalog.list_tables("eu") == ["orders"]
    lake.put(f"eu/returns/{LOG}", f"apac/orders/{LOG}")
    assert await catalog.list_tables("eu") == ["orders", "returns"]
    assert await catalog.list_schemas() == ["apac", "eu", "us"]


@pytest.mark.parametrize(
    "schema", ["", "..", ".trash", "_staging", "eu/orders", "*", "lake_", "lake_.."]
)
async def test_no_schema_leads_elsewhere(build: Build, schema: str) -> None:
    catalog = build({"lake_*": "s3://lake/*/"} if schema.startswith("lake") else {"*": "s3://lake/*/"})
    with pytest.raises(NotFound, match="has no schema"):
        await catalog.list_tables(schema)
    with pytest.raises(NotFound, match="has no schema"):
        catalog.identifier(schema, "orders")


@pytest.mark.parametrize(
    ("name", "location", "told"),
    [
        ("*", "s3://lake/eu/", "requires a location with a '\\*'"),
        ("*_*", "s3://lake/*/*/", "can contain only one '\\*'"),
        ("eu", "s3://lake/*/*/", "too many '\\*': use one for the table"),
        ("*", "s3://lake/*/*/*/", "one for the table and one for the schema"),
        ("*", "s3://lake/eu_*/", "entire name of a folder"),
        ("*", "s3://*/eu/", "entire name of a folder"),
    ],
)
def test_other_stars_are_refused_at_start(build: Build, name: str, location: str, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        build({name: location})
