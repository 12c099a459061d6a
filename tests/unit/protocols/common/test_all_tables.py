"""Listings of many schemas: how many are requested at once, and what failures leave out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from sluicegate.api import (
    NotFound,
    Schema,
    Share,
    SharedSchemaSource,
    SharedTable,
    SluicegateError,
    Unavailable,
)
from sluicegate.protocols.common.all_tables import tables_of_all

SHARE = Share("s1", "sales")


def schemas(catalog: str, count: int) -> list[Schema]:
    return [
        Schema(name, SHARE, name, source=SharedSchemaSource(catalog, name))
        for name in (f"{catalog}{number:03}" for number in range(count))
    ]


def table(schema: Schema) -> SharedTable:
    return SharedTable(schema.id, "sales", "s1", schema.name, "orders", "main", schema.name)


class Listing:
    """Lists one table in each schema, or fails; counts how often and how many at once."""

    def __init__(self, fails: Callable[[Schema], SluicegateError | None] = lambda _: None) -> None:
        self._fails = fails
        self._running = 0
        self.most = 0
        self.requested: list[str] = []

    async def tables(self, schema: Schema) -> Sequence[SharedTable]:
        self.requested.append(schema.name)
        self._running += 1
        self.most = max(self.most, self._running)
        await asyncio.sleep(0)
        self._running -= 1
        if error := self._fails(schema):
            raise error
        return [table(schema)]


async def test_tables_come_in_the_order_of_their_schemas() -> None:
    listing = Listing()
    declared = Schema("b", SHARE, "b")
    every = [*schemas("a", 60), declared, *schemas("c", 60)]
    assert await tables_of_all(every, listing.tables) == [table(schema) for schema in every]


async def test_each_catalog_has_sixteen_requests_at_once() -> None:
    one, two = Listing(), Listing()
    await tables_of_all(schemas("a", 100), one.tables)
    await tables_of_all([*schemas("a", 100), *schemas("b", 100)], two.tables)
    assert (one.most, two.most) == (16, 32)


async def test_a_catalog_that_is_down_gets_no_requests_for_all_of_its_schemas(
    caplog: pytest.LogCaptureFixture,
) -> None:
    listing = Listing(lambda schema: Unavailable("down") if schema.name.startswith("a") else None)
    up = schemas("b", 60)
    assert await tables_of_all([*schemas("a", 60), *up], listing.tables) == [table(each) for each in up]
    requested = [name for name in listing.requested if name.startswith("a")]
    assert 16 <= len(requested) < 32
    assert len(caplog.records) == 60


@pytest.mark.parametrize(
    "fails",
    [
        lambda schema: Unavailable("broken") if int(schema.name[1:]) % 3 else None,
        lambda schema: NotFound("dropped") if int(schema.name[1:]) < 50 else None,
    ],
    ids=["many are broken", "many are gone"],
)
async def test_schemas_that_fail_alone_hide_no_others(
    fails: Callable[[Schema], SluicegateError | None],
) -> None:
    every = schemas("a", 100)
    found = await tables_of_all(every, Listing(fails).tables)
    assert found == [table(schema) for schema in every if fails(schema) is None]
