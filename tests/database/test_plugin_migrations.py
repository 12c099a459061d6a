"""Tables of plugins: made once, in order, wholly or not at all, and only under the plugin's name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from support.process.installed import Site, installed_site

from sluicegate.api import ConfigurationError, Migration
from sluicegate.database import PluginConnections, Store
from sluicegate.plugins import Registry


def table(name: str) -> Callable[[Any], None]:
    """A migration that makes a table."""

    def upgrade(op: Any) -> None:
        op.create_table(name, sa.Column("id", sa.Integer, primary_key=True))

    return upgrade


def failing(op: Any) -> None:
    table("acme_later")(op)
    raise ValueError("not today")


FIRST = Migration("0001", table("acme_first"))
SECOND = Migration("0002", table("acme_second"))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with installed_site(tmp_path) as site:
        yield site


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    made = await Store.open(database_url)
    yield made
    await made.aclose()


async def tables(store: Store) -> set[str]:
    """The plugin's tables, and others that it tried to make."""
    async with store.read() as connection:
        found = await connection.run_sync(lambda each: sa.inspect(each).get_table_names())
    return {name for name in found if name.startswith(("acme", "other"))}


async def test_each_migration_is_made_once(store: Store) -> None:
    await store.migrate_plugins({"acme": [FIRST]})
    await store.migrate_plugins({"acme": [FIRST, SECOND]})
    await store.migrate_plugins({"acme": [FIRST, SECOND]})
    assert await tables(store) == {"acme_first", "acme_second"}


async def test_two_processes_make_it_once(store: Store, database_url: str) -> None:
    other = await Store.open(database_url)
    try:
        known = {"acme": [FIRST, SECOND]}
        await asyncio.gather(store.migrate_plugins(known), other.migrate_plugins(known))
    finally:
        await other.aclose()
    assert await tables(store) == {"acme_first", "acme_second"}


async def test_a_failure_leaves_the_previous_state(store: Store) -> None:
    await store.migrate_plugins({"acme": [FIRST]})
    known = {"acme": [FIRST, SECOND, Migration("0003", failing)]}
    with pytest.raises(ConfigurationError) as refused:
        await store.migrate_plugins(known)
    assert refused.value.message == (
        "the migration '0003' of the plugin 'acme' failed: ValueError: not today"
    )
    assert await tables(store) == {"acme_first"}
    await store.migrate_plugins({"acme": [FIRST, SECOND]})
    assert await tables(store) == {"acme_first", "acme_second"}


@pytest.mark.parametrize(
    ("name", "known", "message"),
    [
        ("acme", [SECOND], "the tables of the plugin 'acme' have the migration '0001', which this"),
        ("acme", [SECOND, FIRST], "has the new migration '0002' before older ones"),
        (
            "acme",
            [FIRST, Migration("0002", table("other_table"))],
            "creates the table 'other_table'; the names of its tables begin with 'acme_'",
        ),
        (
            "acme",
            [FIRST, Migration("0002", lambda op: op.drop_table("ledger"))],
            "removes the table 'ledger', which is not the plugin's",
        ),
        ("acme", [FIRST, Migration("0002", table("acme_first"))], "the migration '0002'"),
    ],
)
async def test_what_a_plugin_may_not_do_is_refused(
    store: Store, name: str, known: list[Migration], message: str
) -> None:
    await store.migrate_plugins({"acme": [FIRST]})
    with pytest.raises(ConfigurationError) as refused:
        await store.migrate_plugins({name: known})
    assert message in refused.value.message
    assert await tables(store) == {"acme_first"}
    async with store.read() as connection:
        await connection.execute(sa.text("SELECT count(*) FROM ledger"))


async def test_a_block_that_raises_writes_nothing(store: Store) -> None:
    await store.migrate_plugins({"acme": [FIRST]})
    database = PluginConnections(store)

    async def write(number: int, failure: Exception | None = None) -> None:
        async with database.write() as connection:
            await connection.execute(sa.text("INSERT INTO acme_first VALUES (:id)"), {"id": number})
            if failure is not None:
                raise failure

    await write(1)
    with pytest.raises(LookupError):
        await write(2, LookupError())
    async with database.read() as connection:
        found = await connection.execute(sa.text("SELECT id FROM acme_first"))
        assert list(found.scalars()) == [1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("[Migration('1', print), Migration('1', print)]", "'1' occurs twice"),
        ("[print]", "returned a builtin_function_or_method, not a Migration"),
        ("7", "must return a list, not int"),
    ],
)
def test_what_is_not_a_list_of_migrations_is_refused(site: Site, answer: str, message: str) -> None:
    site.install(
        "acme",
        "from sluicegate.api import Migration, hookimpl\n"
        f"@hookimpl\ndef sluicegate_register_migrations():\n    return {answer}\n",
    )
    with pytest.raises(ConfigurationError) as refused:
        Registry.load(["acme"])
    assert message in refused.value.message
