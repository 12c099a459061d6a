"""Volumes, models and skills in shares files: read, checked, applied, and shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from access.conftest import Apply
from sqlalchemy import select

from sluicegate.access.grants import Grants
from sluicegate.access.shares_file.catalog_check import check_sources
from sluicegate.access.shares_file.read import SharesFile, read_shares_file
from sluicegate.api import Catalog, CatalogAsset, ModelVersion, Schema, Share, SharedAsset
from sluicegate.api.errors import ConfigurationError
from sluicegate.database import Store
from sluicegate.database.reads import load_assets, load_schemas
from sluicegate.database.tables import shares
from sluicegate_testing.fakes import MemoryCatalog

HEAD = "shares:\n  sales:\n    schemas:\n      eu:\n"
ASSETS = """\
        volumes:
          Manuals: {catalog: raw, volume: "s3://lake/manuals", comment: To read}
          churn: {catalog: main, volume: main.eu.churn}
        models:
          churn: {catalog: main, model: main.eu.churn, versions: [3, 1, 3], aliases: {Champion: 3}}
        skills:
          sql-style: {catalog: raw, skill: "s3://lake/sql-style"}
"""
FIRST = HEAD + ASSETS + "      us: {from: {catalog: main, schema: main.us}, volumes: {}}\n"
SHOWN = """\
+ share sales
+ schema sales.eu
+ schema sales.us
    from.catalog: main
    from.schema: main.us
    from.kinds: ["tables"]
    from.include: ["*"]
    from.access_modes: ["url"]
+ volume sales.eu.churn
    catalog: main
    volume: main.eu.churn
+ volume sales.eu.Manuals
    catalog: raw
    volume: s3://lake/manuals
    comment: To read
+ model sales.eu.churn
    catalog: main
    model: main.eu.churn
    versions: [1, 3]
    aliases: {"Champion": 3}
+ skill sales.eu.sql-style
    catalog: raw
    skill: s3://lake/sql-style"""


async def stored(store: Store) -> list[SharedAsset]:
    """The assets of the schema `eu`, by kind and name."""
    async with store.read() as connection:
        share_id = (await connection.execute(select(shares.c.id))).scalar_one()
        schema = (await load_schemas(connection, Share(share_id, "sales")))[0]
        found = [await load_assets(connection, schema, kind) for kind in ("volume", "model", "skill")]
    return [asset for assets in found for asset in assets]


async def test_a_file_with_assets_is_shown_and_applied(apply: Apply, store: Store) -> None:
    assert "\n".join(await apply(FIRST)) == SHOWN
    of_main, manuals, model, skill = await stored(store)
    assert (manuals.name, manuals.kind, manuals.comment) == ("Manuals", "volume", "To read")
    assert (of_main.name, of_main.kind, of_main.versions) == ("churn", "volume", None)
    assert (model.kind, model.versions, model.aliases) == ("model", (1, 3), (("Champion", 3),))
    assert (skill.kind, skill.identifier) == ("skill", "s3://lake/sql-style")
    assert skill.full_name == "sales.eu.sql-style"


async def test_applying_again_changes_nothing(apply: Apply, store: Store) -> None:
    await apply(FIRST)
    assert await apply(FIRST) == ["nothing to change"]
    assert await store.revision() == 1


async def test_changes_keep_the_id_and_are_shown(apply: Apply, store: Store) -> None:
    await apply(FIRST)
    before = {asset.full_name: asset.id for asset in await stored(store) if asset.kind == "model"}
    text = FIRST.replace("versions: [3, 1, 3]", "versions: [3]").replace("/manuals", "/books")
    assert await apply(text) == [
        "~ volume sales.eu.Manuals",
        "    volume: s3://lake/manuals → s3://lake/books",
        "~ model sales.eu.churn",
        "    versions: [1, 3] → [3]",
    ]
    after = {asset.full_name: asset.id for asset in await stored(store) if asset.kind == "model"}
    assert before == after


async def test_what_the_file_no_longer_has_is_removed(apply: Apply, store: Store) -> None:
    await apply(FIRST)
    lines = await apply(HEAD + ASSETS.partition("        models:")[0] + "      us: {}\n")
    assert lines[-2:] == ["- model sales.eu.churn", "- skill sales.eu.sql-style"]
    assert {asset.kind for asset in await stored(store)} == {"volume"}


async def test_a_change_takes_effect_for_recipients(apply: Apply, store: Store) -> None:
    await apply(FIRST)
    grants = Grants(store, max_age=0)
    async with store.read() as connection:
        share_id = (await connection.execute(select(shares.c.id))).scalar_one()
        schema: Schema = (await load_schemas(connection, Share(share_id, "sales")))[0]
    found = await grants.asset(schema, "volume", "MANUALS")
    assert found is not None
    assert await grants.asset(schema, "model", "manuals") is None
    assert [each.name for each in await grants.assets(schema, "volume")] == ["churn", "Manuals"]
    await apply(HEAD + "        {}\n")
    assert await grants.asset(schema, "volume", "Manuals") is None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("{volums: {}}", "unknown key 'volums'; did you mean 'volumes'?"),
        ("{models: {m: {catalog: raw, modle: x}}}", "unknown key 'modle'; did you mean 'model'?"),
        ("{skills: {s: {catalog: raw}}}", "'skill' is missing"),
        ("{volumes: {v: {catalog: rwa, volume: x}}}", "no catalog 'rwa' in the configuration"),
        ("{volumes: {v: {catalog: raw, volume: ''}}}", "at least 1 character"),
        ("{volumes: {a.b: {catalog: raw, volume: x}}}", "a volume's name cannot contain a period"),
        ("{models: {a b: {catalog: raw, model: x}}}", "a model's name cannot contain a space"),
        ("{skills: {Sql: {catalog: raw, skill: x}}}", "lower-case letters, digits and single"),
        ("{skills: {a--b: {catalog: raw, skill: x}}}", "lower-case letters, digits and single"),
        (f"{{skills: {{{'a' * 65}: {{catalog: raw, skill: x}}}}}}", "up to 64 lower-case letters"),
        ("{volumes: {v: {catalog: raw, volume: x}, V: {catalog: raw, volume: y}}}", "same name"),
        ("{models: {m: {catalog: raw, model: x, versions: [-1]}}}", "greater than or equal to 0"),
        (
            "{models: {m: {catalog: raw, model: x, versions: [1], aliases: {best: 2}}}}",
            "the alias 'best' is for version 2, which is not shared",
        ),
        (
            "{models: {m: {catalog: raw, model: x, aliases: {a/b: 2}}}}",
            "an alias's name cannot contain a slash",
        ),
        ("{volumes: {v: {catalog: raw, volume: x, aliases: {}}}}", "unknown key 'aliases'"),
    ],
)
def test_a_bad_entry_is_refused_where_it_stands(tmp_path: Path, schema: str, problem: str) -> None:
    path = tmp_path / "shares.yaml"
    path.write_text(f"shares:\n  sales:\n    schemas:\n      eu: {schema}\n")
    with pytest.raises(ConfigurationError) as refused:
        read_shares_file(path, {"raw", "main"})
    assert problem in refused.value.message
    assert refused.value.message.startswith(f"{path}:4:")


@pytest.mark.parametrize("name", ["a", "sql-style", "a" * 64, "0-9"])
def test_a_skill_can_have_any_valid_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "shares.yaml"
    path.write_text(f"{HEAD}        skills: {{{name!r}: {{catalog: raw, skill: x}}}}\n")
    file = read_shares_file(path, {"raw"})
    assert list(file.declaration.shares["sales"].schemas["eu"].skills) == [name]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("volumes: {v: {catalog: main, volume: eu.manuals}}", None),
        ("volumes: {v: {catalog: main, volume: eu.gone}}", "there is no volume 'eu.gone'"),
        ("skills: {s: {catalog: main, skill: eu.manuals}}", "there is no skill 'eu.manuals'"),
        ("models: {m: {catalog: main, model: eu.churn, versions: [1], aliases: {b: 1}}}", None),
        ("models: {m: {catalog: main, model: eu.churn, versions: [1, 7]}}", "no version 7"),
        ("models: {m: {catalog: main, model: eu.churn, aliases: {b: 9}}}", "no version 9"),
    ],
)
async def test_sources_that_do_not_exist_are_named(
    tmp_path: Path, entry: str, problem: str | None
) -> None:
    path = tmp_path / "shares.yaml"
    path.write_text(f"{HEAD}        {entry}\n")
    file: SharesFile = read_shares_file(path, {"main"})
    catalog: Catalog = MemoryCatalog(
        {},
        {
            ("volume", "eu.manuals"): CatalogAsset("v", "s3://lake/manuals"),
            ("model", "eu.churn"): CatalogAsset("m", None),
        },
        {"eu.churn": [ModelVersion(1, "READY", "s3://lake/churn/1")]},
    )
    found = await check_sources(file, lambda _: catalog)
    assert len(found) == (0 if problem is None else 1)
    assert problem is None or problem in found[0].message


async def test_a_schema_of_a_catalog_shares_only_declared_assets(apply: Apply, store: Store) -> None:
    entry = "{from: {catalog: main, schema: main.eu}, volumes: {v: {catalog: main, volume: eu.v}}}"
    await apply(f"shares:\n  sales:\n    schemas:\n      eu: {entry}\n")
    assert [(asset.kind, asset.name) for asset in await stored(store)] == [("volume", "v")]
