"""What an entire schema of a catalog shares: its tables, or other assets, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from access.conftest import Apply
from sqlalchemy import select, update

from sluicegate.access.recipients.service import Recipients
from sluicegate.access.shares_file.catalog_check import check_sources
from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.api import Catalog, CatalogAsset, CatalogTable
from sluicegate.api.errors import ConfigurationError
from sluicegate.database import Store
from sluicegate.database.reads import load_schemas, load_shares
from sluicegate.database.tables import schemas
from sluicegate_testing.fakes import MemoryCatalog

SCHEMA = (
    "shares: {{sales: {{schemas: {{eu: {{from: {{catalog: main, schema: eu{options}}}{more}}}}}}}}}\n"
)
SHARE = "shares: {{sales: {{from: {{catalog: main{options}}}}}}}\n"
GRANT = "recipients: {acme: {shares: [sales]}}\n"


def of_schema(options: str = "", more: str = "") -> str:
    return SCHEMA.format(options=options, more=more) + GRANT


async def sources(store: Store, recipients: Recipients) -> list[Any]:
    """The sources of the share and of its schemas."""
    [acme] = await recipients.list()
    async with store.read() as connection:
        [share] = await load_shares(connection, acme.id)
        return [share.source, *(each.source for each in await load_schemas(connection, share))]


@pytest.mark.parametrize("options", ["", ", kinds: [tables]"])
async def test_without_kinds_only_tables_are_shared(
    apply: Apply, store: Store, recipients: Recipients, options: str
) -> None:
    assert '    from.kinds: ["tables"]' in await apply(of_schema(options))
    _, source = await sources(store, recipients)
    assert source.kinds == ("tables",)
    assert await apply(of_schema()) == ["nothing to change"]


async def test_kinds_are_shown_when_they_change(
    apply: Apply, store: Store, recipients: Recipients
) -> None:
    await apply(of_schema())
    changed = of_schema(", kinds: [models, volumes, tables, models]")
    assert await apply(changed) == [
        "~ schema sales.eu",
        '    from.kinds: ["tables"] → ["tables", "volumes", "models"]',
    ]
    _, source = await sources(store, recipients)
    assert source.kinds == ("tables", "volumes", "models")
    assert await apply(changed) == ["nothing to change"]


async def test_kinds_of_a_share_are_those_of_its_schemas(
    apply: Apply, store: Store, recipients: Recipients
) -> None:
    lines = await apply(SHARE.format(options=", kinds: [volumes], history: true") + GRANT)
    assert '    from.kinds: ["volumes"]' in lines
    [source] = await sources(store, recipients)
    assert source.schema("eu").kinds == ("volumes",)
    assert source.schema("eu").history


async def test_a_source_that_was_stored_before_there_were_kinds_is_unchanged(
    apply: Apply, store: Store, recipients: Recipients
) -> None:
    await apply(of_schema())
    async with store.write() as connection:
        stored = (await connection.execute(select(schemas.c.source))).scalar_one()
        older = {key: value for key, value in stored.items() if key != "kinds"}
        await connection.execute(update(schemas).values(source=older))
    _, source = await sources(store, recipients)
    assert source.kinds == ("tables",)
    assert await apply(of_schema()) == ["nothing to change"]
    assert (await apply(of_schema(", kinds: [skills]")))[1:] == [
        '    from.kinds: ["tables"] → ["skills"]'
    ]


@pytest.mark.parametrize(
    ("kinds", "problem"),
    [
        ("[volume]", "unknown kind 'volume'; did you mean 'volumes'?"),
        ("[tables, modles]", "unknown kind 'modles'; did you mean 'models'?"),
        ("[functions]", "unknown kind 'functions'; known: tables, volumes, models, skills"),
        ("[]", "expected at least one of tables, volumes, models and skills"),
        ("volumes", "shares.sales.schemas.eu.from.kinds"),
        ("[1]", "shares.sales.schemas.eu.from.kinds.0"),
        ("[volumes], partition_filter: a = recipient.a", "a partition_filter does not limit volumes"),
        (
            "[tables, models, volumes], partition_filter: a = recipient.a",
            "a partition_filter does not limit volumes and models",
        ),
    ],
)
def test_kinds_that_cannot_be_shared_are_refused(tmp_path: Path, kinds: str, problem: str) -> None:
    path = tmp_path / "shares.yaml"
    path.write_text(of_schema(f", kinds: {kinds}"))
    with pytest.raises(ConfigurationError) as refused:
        read_shares_file(path, {"main"})
    assert problem in refused.value.message
    assert refused.value.message.startswith(f"{path}:1:")


def test_tables_can_be_declared_next_to_the_assets_of_a_catalog(tmp_path: Path) -> None:
    path = tmp_path / "shares.yaml"
    tables = ", tables: {orders: {catalog: main, table: eu.orders}}"
    path.write_text(of_schema(", kinds: [volumes]", tables))
    read_shares_file(path, {"main"})
    path.write_text(of_schema(", kinds: [tables, volumes]", tables))
    with pytest.raises(ConfigurationError, match="either tables or from, not both"):
        read_shares_file(path, {"main"})


class WithoutAssets(MemoryCatalog):
    """A catalog that cannot list assets."""

    listed_assets = Catalog.listed_assets


@pytest.mark.parametrize(
    ("options", "kind", "problems"),
    [
        (", kinds: [tables, volumes]", MemoryCatalog, []),
        (", kinds: [volumes]", MemoryCatalog, []),
        (", kinds: [tables, models]", MemoryCatalog, ["0 models: the catalog lists none"]),
        (", kinds: [volumes], exclude: ['*']", MemoryCatalog, ["0 volumes: include and exclude"]),
        (", kinds: [volumes]", WithoutAssets, ["the catalog cannot list volumes"]),
        ("", WithoutAssets, []),
    ],
)
async def test_apply_warns_of_kinds_that_the_catalog_does_not_have(
    tmp_path: Path, options: str, kind: type[MemoryCatalog], problems: list[str]
) -> None:
    path = tmp_path / "shares.yaml"
    path.write_text(of_schema(options))
    catalog = kind(
        {"eu": {"orders": CatalogTable("1", "delta", "s3://lake/orders")}},
        {("volume", "eu.manuals"): CatalogAsset("v", "s3://lake/manuals")},
    )
    found = await check_sources(read_shares_file(path, {"main"}), lambda _: catalog)
    assert len(found) == len(problems)
    assert all(problem in each.message for problem, each in zip(problems, found, strict=True))


def test_the_default_is_documented() -> None:
    from sluicegate.access.shares_file.models import Declaration

    assert '"default": ["tables"]' in json.dumps(Declaration.model_json_schema())
