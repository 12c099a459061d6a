"""Applying shares files: what changes, what is shown, and that it is all or nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from access.conftest import Apply
from sqlalchemy import select, update

from sluicegate.access.recipients.service import Recipients
from sluicegate.access.shares_file.apply import apply_shares_file
from sluicegate.access.shares_file.diff import render
from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.api.errors import ConfigurationError
from sluicegate.api.models import Share, SharedCatalogSource, SharedSchemaSource
from sluicegate.database import Store
from sluicegate.database.reads import load_schemas, load_shares
from sluicegate.database.tables import schemas, shared_tables, shares

FIRST = """
shares:
  sales:
    comment: Daily sales
    schemas:
      eu:
        tables:
          orders: {catalog: raw, table: "s3://lake/orders", history: true, access_modes: [dir, url]}
          visits: {catalog: main, table: main.eu.visits, partition_filter: "land = recipient.country"}
      us: {from: {catalog: main, schema: main.us, exclude: ["tmp_*"], history: true}}
recipients:
  acme: {shares: [sales], token_lifetime: 90d, allow_from: [203.0.113.0/24]}
"""
SHOWN = """\
+ share sales
    comment: Daily sales
+ schema sales.eu
+ schema sales.us
    from.catalog: main
    from.schema: main.us
    from.kinds: ["tables"]
    from.include: ["*"]
    from.exclude: ["tmp_*"]
    from.history: true
    from.access_modes: ["url"]
+ table sales.eu.orders
    table: s3://lake/orders
    catalog: raw
    history: true
    access_modes: ["url", "dir"]
+ table sales.eu.visits
    table: main.eu.visits
    catalog: main
    partition_filter: land = recipient.country
    access_modes: ["url"]
+ recipient acme
    token_lifetime: 90d
    allow_from: ["203.0.113.0/24"]
+ grant sales to acme"""


async def _table_ids(store: Store) -> dict[str, str]:
    async with store.read() as connection:
        rows = await connection.execute(select(shared_tables.c.name, shared_tables.c.id))
        return {row.name: row.id for row in rows}


async def test_a_first_file_is_shown_and_applied(apply: Apply, recipients: Recipients) -> None:
    assert "\n".join(await apply(FIRST)) == SHOWN
    [acme] = await recipients.list()
    assert (acme.name, acme.shares, acme.allow_from) == ("acme", ("sales",), ("203.0.113.0/24",))


async def test_applying_again_changes_nothing(apply: Apply, store: Store) -> None:
    await apply(FIRST)
    assert await apply(FIRST) == ["nothing to change"]
    assert await store.revision() == 1


async def test_a_dry_run_shows_the_same_and_changes_nothing(apply: Apply, store: Store) -> None:
    assert "\n".join(await apply(FIRST, dry_run=True)) == SHOWN
    assert (await _table_ids(store), await store.revision()) == ({}, 0)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("Daily sales", "Weekly", ["~ share sales", "    comment: Daily sales → Weekly"]),
        ("    comment: Daily sales\n", "", ["~ share sales", "    comment: Daily sales → none"]),
        ("  sales:", "  Sales:", ["~ share Sales", "    name: sales → Sales"]),
        ("eu:", "EU:", ["~ schema sales.EU", "    name: eu → EU"]),
        ("orders:", "Orders:", ["~ table sales.eu.Orders", "    name: orders → Orders"]),
        ("history: true", "history: false", ["~ table sales.eu.orders", "    history: true → false"]),
        (", access_modes: [dir, url]", ", access_modes: [url, dir]", ["nothing to change"]),
        (
            ", access_modes: [dir, url]",
            ", ref: audit",
            [
                "~ table sales.eu.orders",
                '    access_modes: ["url", "dir"] → ["url"]',
                "    ref: none → audit",
            ],
        ),
        ("90d", "36h", ["~ recipient acme", "    token_lifetime: 90d → 36h"]),
        ("shares: [sales]", "shares: [SALES]", ["nothing to change"]),
        ("shares: [sales]", "shares: []", ["- grant sales to acme"]),
        (
            ', exclude: ["tmp_*"]',
            "",
            ["~ schema sales.us", '    from.exclude: ["tmp_*"] → []'],
        ),
        (
            "history: true}}",
            "history: true, alias: _}}",
            ["~ schema sales.us", "    from.alias: none → _"],
        ),
        (
            "history: true}}",
            "history: true, change_feed: true, access_modes: [dir]}}",
            [
                "~ schema sales.us",
                "    from.change_feed: false → true",
                '    from.access_modes: ["url"] → ["dir"]',
            ],
        ),
        (
            "history: true}}",
            "partition_filter: country = recipient.country, comment: Live}}",
            [
                "~ schema sales.us",
                "    from.comment: none → Live",
                "    from.history: true → false",
                "    from.partition_filter: none → country = recipient.country",
            ],
        ),
    ],
)
async def test_changes_are_shown_field_by_field(
    apply: Apply, old: str, new: str, shown: list[str]
) -> None:
    await apply(FIRST)
    assert await apply(FIRST.replace(old, new, 1)) == shown
    assert await apply(FIRST.replace(old, new, 1)) == ["nothing to change"]


async def test_a_schema_that_was_stored_before_its_tables_had_options_has_none(
    apply: Apply, store: Store
) -> None:
    declared = "shares: {sales: {schemas: {us: {from: {catalog: main, schema: main.us}}}}}"
    await apply(declared)
    async with store.write() as connection:
        old = {"catalog": "main", "schema": "main.us", "include": ["*"], "exclude": []}
        await connection.execute(update(schemas).values(source=old))
    assert await apply(declared) == ["nothing to change"]
    async with store.read() as connection:
        share = (await connection.execute(select(shares.c.id))).scalar_one()
        [schema] = await load_schemas(connection, Share(share, "sales"))
    assert schema.source == SharedSchemaSource("main", "main.us")


async def test_a_shared_catalog_is_shown_changed_and_removed(
    apply: Apply, recipients: Recipients, store: Store
) -> None:
    declared = (
        "shares: {lake: {from: {catalog: main, exclude: [tmp], history: true}}}\n"
        "recipients: {acme: {shares: [lake]}}"
    )
    planned = await apply(declared, dry_run=True)
    assert planned[:7] == [
        "+ share lake",
        "    from.catalog: main",
        '    from.kinds: ["tables"]',
        '    from.include: ["*"]',
        '    from.exclude: ["tmp"]',
        "    from.history: true",
        '    from.access_modes: ["url"]',
    ]
    assert await apply(declared) == planned
    assert await apply(declared) == ["nothing to change"]
    [acme] = await recipients.list()
    async with store.read() as connection:
        [share] = await load_shares(connection, acme.id)
    assert share.source == SharedCatalogSource("main", exclude=("tmp",), history=True)
    assert share.source.schema("eu") == SharedSchemaSource("main", "eu", history=True)

    changed = declared.replace("exclude: [tmp]", "alias: _")
    assert (await apply(changed))[:3] == [
        "~ share lake",
        '    from.exclude: ["tmp"] → []',
        "    from.alias: none → _",
    ]
    without = "shares: {lake: {schemas: {eu: {}}}}"
    assert (await apply(without))[:2] == ["~ share lake", "    from.catalog: main → none"]
    async with store.read() as connection:
        [share] = await load_shares(connection, acme.id)
    assert share.source is None


async def test_a_named_share_becomes_exactly_what_the_file_says(apply: Apply, store: Store) -> None:
    await apply(FIRST)
    shown = await apply("shares: {sales: {comment: Daily sales, schemas: {eu: {}}}}")
    assert shown == [
        "- schema sales.us",
        "- table sales.eu.orders",
        "- table sales.eu.visits",
        "  recipient acme is not in the file and stays unchanged (--prune removes it)",
    ]
    assert await _table_ids(store) == {}


async def test_what_the_file_does_not_name_is_only_removed_by_prune(
    apply: Apply, recipients: Recipients
) -> None:
    await apply(FIRST)
    other = "shares: {other: {}}\nrecipients: {beta: {shares: [other, sales]}}"
    assert await apply(other) == [
        "+ share other",
        "+ recipient beta",
        "+ grant other to beta",
        "+ grant sales to beta",
        "  recipient acme is not in the file and stays unchanged (--prune removes it)",
        "  share sales is not in the file and stays unchanged (--prune removes it)",
    ]
    pruned = await apply(other.replace(", sales", ""), prune=True)
    assert [line for line in pruned if not line.startswith(" ")] == [
        "- share sales",
        "- schema sales.eu",
        "- schema sales.us",
        "- table sales.eu.orders",
        "- table sales.eu.visits",
        "- recipient acme",
        "- grant sales to acme",
        "- grant sales to beta",
    ]
    assert [(each.name, each.shares) for each in await recipients.list()] == [("beta", ("other",))]


async def test_ids_stay_when_things_change_and_are_new_when_they_come_back(
    apply: Apply, store: Store
) -> None:
    await apply(FIRST)
    first = await _table_ids(store)
    await apply(FIRST.replace("s3://lake/orders", "s3://lake/orders2").replace("visits:", "VISITS:"))
    changed = await _table_ids(store)
    assert (changed["orders"], changed["VISITS"]) == (first["orders"], first["visits"])
    await apply("shares: {sales: {}}")
    await apply(FIRST)
    assert not set((await _table_ids(store)).values()) & set(first.values())


async def test_changing_a_recipient_keeps_its_tokens(apply: Apply, recipients: Recipients) -> None:
    await apply(FIRST)
    await recipients.rotate("acme")
    await apply(FIRST.replace("acme:", "Acme:"))
    [acme] = await recipients.list()
    assert (acme.name, acme.tokens) == ("Acme", 1)


async def test_grants_of_unknown_shares_are_refused_where_they_stand(
    apply: Apply, store: Store, tmp_path: Path
) -> None:
    await apply(FIRST)
    bad = "shares:\n  other: {}\nrecipients:\n  acme:\n    shares: [other, sals]\n"
    with pytest.raises(ConfigurationError) as raised:
        await apply(bad)
    place = f"{tmp_path}/shares.yaml:5:21"
    assert raised.value.message == f"{place}: there is no share 'sals'; did you mean 'sales'?"
    with pytest.raises(ConfigurationError, match="there is no share 'sales'; known: other"):
        await apply(bad.replace("sals", "sales"), prune=True)
    assert await store.revision() == 1


async def test_a_failure_midway_changes_nothing(
    apply: Apply, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await apply(FIRST)
    before = await _table_ids(store)

    def fail() -> str:
        if len(made) == 3:
            raise LookupError
        made.append(f"id-{len(made)}")
        return made[-1]

    made: list[str] = []
    monkeypatch.setattr("sluicegate.access.shares_file.apply.uuid4", fail)
    more = FIRST.replace("orders:", "deliveries:").replace(
        "  sales:", "  new: {schemas: {x: {}}}\n  sales:"
    )
    with pytest.raises(LookupError):
        await apply(more + "  beta: {shares: [new]}\n")
    assert made == ["id-0", "id-1", "id-2"]  # the share, its schema and the table were written
    assert (await _table_ids(store), await store.revision()) == (before, 1)


async def test_concurrent_applies_end_as_one_of_them(
    store: Store, database_url: str, tmp_path: Path
) -> None:
    texts = [FIRST, FIRST.replace("orders:", "deliveries:").replace("us:", "asia:")]
    files = []
    for index, text in enumerate(texts):
        path = tmp_path / f"{index}.yaml"
        path.write_text(text)
        files.append(read_shares_file(path, {"raw", "main"}))
    other = await Store.open(database_url)
    await asyncio.gather(
        *(apply_shares_file(each, file) for file in files * 4 for each in (store, other))
    )
    await other.aclose()
    again = [list(render(await apply_shares_file(store, file, dry_run=True))) for file in files]
    assert ["nothing to change"] in again
    async with store.read() as connection:
        assert len((await connection.execute(select(shares))).all()) == 1
    assert len(await _table_ids(store)) == 2


TABLE_ID = "6f9619ff-8b86-4d01-b42d-00c04fc964ff"


def _with_ids(**ids: str) -> str:
    tables = ", ".join(
        f"{name}: {{catalog: raw, table: s3://b/{name}, id: {known}}}" for name, known in ids.items()
    )
    return f"shares: {{s: {{schemas: {{d: {{tables: {{{tables}}}}}}}}}}}"


async def _ids(store: Store) -> dict[str, str]:
    async with store.read() as connection:
        rows = await connection.execute(select(shared_tables.c.name, shared_tables.c.id))
        return {row.name: row.id for row in rows}


async def test_an_added_table_gets_its_declared_id_and_keeps_it(apply: Apply, store: Store) -> None:
    await apply(_with_ids(a=TABLE_ID.upper()))
    assert await _ids(store) == {"a": TABLE_ID}
    assert await apply(_with_ids(a=str(UUID(int=1)))) == ["nothing to change"]
    assert await _ids(store) == {"a": TABLE_ID}
    await apply(_with_ids(renamed=TABLE_ID))
    assert await _ids(store) == {"renamed": TABLE_ID}


async def test_two_tables_cannot_have_one_id(apply: Apply, store: Store) -> None:
    with pytest.raises(ConfigurationError, match=r"the table s\.d\.a has this id already"):
        await apply(_with_ids(a=TABLE_ID, b=TABLE_ID))
    await apply(_with_ids(a=TABLE_ID))
    with pytest.raises(ConfigurationError, match=r"shares\.yaml:1:\d+: the table s\.d\.a has this id"):
        await apply(_with_ids(a=TABLE_ID, b=TABLE_ID))
    assert await _ids(store) == {"a": TABLE_ID}
