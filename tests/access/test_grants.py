"""What recipients see, how soon they see changes, and what a failing database means for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event
from support.process.clock import Clock
from support.servers.postgres import PostgresServer

from sluicegate.access.grants import Grants
from sluicegate.access.recipients.secrets import digest
from sluicegate.access.recipients.service import Recipients
from sluicegate.admin.editor import Editor
from sluicegate.admin.identity import Admin
from sluicegate.api.errors import NotFound, Unavailable
from sluicegate.api.models import SharedSchemaSource, SharedTable
from sluicegate.api.principals import Principal
from sluicegate.config.yaml import parse_document
from sluicegate.database import Store

from .conftest import Apply

DECLARED = """
shares:
  sales:
    comment: Daily sales
    schemas:
      eu:
        tables:
          Visits: {catalog: main, table: main.eu.visits, start_version: 12, ref: audit}
          orders: {catalog: raw, table: "file:///srv/orders", history: true, access_modes: [url, dir]}
      us: {from: {catalog: main, schema: main.us, exclude: ["tmp_*"]}}
  Archive: {display_name: The archive, properties: {tier: cold}}
  secret: {}
recipients:
  acme: {shares: [SALES, archive]}
  none: {}
"""


async def _principal(recipients: Recipients, name: str) -> Principal:
    [found] = [each for each in await recipients.list() if each.name == name]
    return Principal(found.id, name, "bearer")


@contextmanager
def _counted_statements() -> Iterator[list[str]]:
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def test_a_recipient_sees_what_it_was_granted(
    store: Store, apply: Apply, recipients: Recipients
) -> None:
    await apply(DECLARED)
    grants, acme = Grants(store), await _principal(recipients, "acme")
    archive, sales = await grants.shares(acme)
    assert (archive.name, archive.display_name, archive.properties) == (
        "Archive",
        "The archive",
        {"tier": "cold"},
    )
    eu, us = await grants.schemas(acme, "Sales")
    assert (eu.name, eu.share, eu.source) == ("eu", sales, None)
    assert us.source == SharedSchemaSource("main", "main.us", ("*",), ("tmp_*",))
    orders, visits = await grants.tables(eu)
    assert orders == SharedTable(
        id=orders.id,
        share="sales",
        share_id=sales.id,
        schema="eu",
        name="orders",
        catalog="raw",
        identifier="file:///srv/orders",
        history=True,
        access_modes=("url", "dir"),
    )
    assert (visits.name, visits.start_version, visits.ref) == ("Visits", 12, "audit")
    assert await grants.tables(us) == []


async def test_names_are_found_in_any_case(store: Store, apply: Apply, recipients: Recipients) -> None:
    await apply(DECLARED)
    grants, acme = Grants(store), await _principal(recipients, "acme")
    schema = await grants.schema(acme, "SALES", "EU")
    table = await grants.table(schema, "vISITS")
    assert table is not None
    assert ((await grants.share(acme, "ARCHIVE")).name, schema.name, table.name) == (
        "Archive",
        "eu",
        "Visits",
    )
    assert await grants.table(schema, "nothing") is None


async def test_a_share_that_was_not_granted_does_not_exist(
    store: Store, apply: Apply, recipients: Recipients
) -> None:
    await apply(DECLARED)
    grants, acme = Grants(store), await _principal(recipients, "acme")
    for name in ("secret", "absent"):
        asked = (grants.share(acme, name), grants.schemas(acme, name), grants.schema(acme, name, "x"))
        for answer in asked:
            with pytest.raises(NotFound, match=rf"^there is no share '{name}'$"):
                await answer
    with pytest.raises(NotFound, match=r"^there is no schema 'asia' in the share 'sales'$"):
        await grants.schema(acme, "sales", "asia")
    assert await grants.shares(await _principal(recipients, "none")) == []


async def test_a_warm_read_sends_no_query_to_the_database(
    store: Store, apply: Apply, recipients: Recipients
) -> None:
    await apply(DECLARED)
    token = digest((await recipients.rotate("acme")).secret)
    grants, acme = Grants(store, clock=Clock()), await _principal(recipients, "acme")

    async def read_everything() -> None:
        await grants.token(token)
        await grants.shares(acme)
        await grants.tables(await grants.schema(acme, "sales", "eu"))

    await read_everything()
    with _counted_statements() as statements:
        await read_everything()
    assert statements == []


_READ = ("schemas", "shared_tables")


async def test_a_table_is_looked_up_without_its_schema(
    store: Store, apply: Apply, recipients: Recipients
) -> None:
    await apply(DECLARED)
    grants, acme = Grants(store, clock=Clock()), await _principal(recipients, "acme")
    with _counted_statements() as statements:
        schema = await grants.schema(acme, "sales", "EU")
        table = await grants.table(schema, "ORDERS")
    assert table is not None
    plain = [each.replace('"', "") for each in statements]  # the databases quote differently
    assert [f"{name}.key = " in each for name in _READ for each in plain if f"FROM {name}" in each] == [
        True,
        True,
    ]
    assert await grants.table(schema, "absent") is None
    with _counted_statements() as statements:
        assert await grants.table(schema, "orders") == table
        assert await grants.table(schema, "ABSENT") is None
    assert statements == []


async def test_a_table_of_a_cached_listing_is_not_read_again(
    store: Store, apply: Apply, recipients: Recipients
) -> None:
    await apply(DECLARED)
    grants, acme = Grants(store, clock=Clock()), await _principal(recipients, "acme")
    [eu, _] = await grants.schemas(acme, "sales")
    tables = await grants.tables(eu)
    with _counted_statements() as statements:
        assert [await grants.table(eu, table.name) for table in tables] == tables
        assert await grants.schema(acme, "sales", "eu") == eu
    assert statements == []


_CHANGES = {
    "grant": ("[SALES, archive]", "[SALES]"),
    "table": ("main.eu.visits", "main.eu.other"),
    "schema": ("eu:\n", "eu:\n        comment: Changed\n"),
    "share": ("Daily sales", "Changed"),
}


async def _write(store: Store, recipients: Recipients, change: str) -> None:
    """Make a change of one kind."""
    if change in _CHANGES:
        editor, owner = Editor(store, ["raw", "main"]), Admin("ada", "owner", None, "token", 0)
        document = parse_document(DECLARED.replace(*_CHANGES[change]), Path("shares.yaml"))
        await editor.apply(owner, editor.check_file(document.data), prune=False, dry_run=False)
    elif change == "token":
        await recipients.rotate("acme")
    else:
        async with store.write(None if change == "of an older version" else []):
            pass


@pytest.mark.parametrize(
    ("change", "read_again"),
    [
        ("token", {"tokens"}),
        ("grant", {"shares"}),
        ("table", {"shared_tables"}),
        ("schema", {"shares", "schemas", "shared_tables"}),
        ("share", {"shares", "schemas", "shared_tables"}),
        ("of an older version", {"tokens", "shares", "schemas", "shared_tables"}),
        ("nothing cached", set[str]()),
    ],
)
async def test_a_change_drops_what_depends_on_it(
    store: Store, apply: Apply, recipients: Recipients, change: str, read_again: set[str]
) -> None:
    await apply(DECLARED)
    token = digest((await recipients.rotate("acme")).secret)
    acme = await _principal(recipients, "acme")
    grants = Grants(store, clock=Clock())

    async def read() -> None:
        await grants.token(token)
        await grants.tables(await grants.schema(acme, "sales", "eu"))

    await read()
    await _write(store, recipients, change)
    with _counted_statements() as statements:
        await read()
    plain = [each.replace('"', "") for each in statements]
    names = ("tokens", "shares", "schemas", "shared_tables")
    assert {name for name in names for each in plain if f"FROM {name}" in each} == read_again


async def test_another_processs_write_is_seen_after_the_maximal_age(
    store: Store, database_url: str, apply: Apply, recipients: Recipients
) -> None:
    await apply(DECLARED)
    token = digest((await recipients.rotate("acme")).secret)
    clock = Clock(0)
    grants, acme = Grants(store, max_age=1, clock=clock), await _principal(recipients, "acme")

    async def seen() -> tuple[bool, list[str]]:
        record = await grants.token(token)
        shares = [share.name for share in await grants.shares(acme)]
        return record is not None and record.revoked_at is None, shares

    assert await seen() == (True, ["Archive", "sales"])
    elsewhere = await Store.open(database_url)
    await Recipients(elsewhere, token_lifetime=1, rotation_grace=1).revoke("acme")
    await elsewhere.aclose()
    assert await seen() == (True, ["Archive", "sales"])
    clock.advance(1)
    assert await seen() == (False, ["Archive", "sales"])


async def test_a_change_by_the_same_process_takes_effect_at_once(
    store: Store, apply: Apply, recipients: Recipients
) -> None:
    await apply(DECLARED)
    token = digest((await recipients.rotate("acme")).secret)
    grants, acme = Grants(store, max_age=3600), await _principal(recipients, "acme")
    assert [share.name for share in await grants.shares(acme)] == ["Archive", "sales"]
    await apply("recipients: {acme: {shares: [secret]}}")
    assert [share.name for share in await grants.shares(acme)] == ["secret"]
    record = await grants.token(token)
    assert record is not None
    assert record.revoked_at is None
    await recipients.revoke("acme")
    record = await grants.token(token)
    assert record is not None
    assert record.revoked_at is not None


async def test_an_unchanged_revision_costs_one_small_query(
    store: Store, apply: Apply, recipients: Recipients
) -> None:
    await apply(DECLARED)
    clock = Clock(0)
    grants, acme = Grants(store, clock=clock), await _principal(recipients, "acme")
    await grants.shares(acme)
    clock.advance(1)
    with _counted_statements() as statements:
        for _ in range(3):
            await grants.shares(acme)
    asked = [statement for statement in statements if "SELECT revision" in statement]
    assert len(asked) == 1
    assert not [statement for statement in statements if "FROM shares" in statement]


async def test_reads_outlive_a_database_that_is_gone_for_a_while(
    postgres: PostgresServer,
) -> None:
    url = postgres.new_database()
    store = await Store.open(url)
    await Recipients(store, token_lifetime=100, rotation_grace=1).create("acme")
    clock = Clock(0)
    grants = Grants(store, max_age=1, max_stale=30, clock=clock)
    acme = await _principal(Recipients(store, token_lifetime=1, rotation_grace=1), "acme")
    assert await grants.shares(acme) == []

    postgres.go_away(url)
    clock.advance(29)
    assert await grants.shares(acme) == []
    with pytest.raises(Unavailable, match="database does not respond") as raised:
        await grants.token(b"not cached")
    assert "postgres" not in raised.value.message
    clock.advance(1)
    with pytest.raises(Unavailable, match="database does not respond"):
        await grants.shares(acme)

    postgres.come_back(url)
    clock.advance(3)
    assert await grants.shares(acme) == []
    await store.aclose()
