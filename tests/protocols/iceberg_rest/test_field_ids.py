"""Field ids in the database: kept for all versions, and the same for all processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select
from support.gateways.memory_gateway import catalog_table, memory_gateway, shared_table
from support.servers.databases import database_url
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import snapshot

from sluicegate.api import Unavailable, UnsupportedOperation
from sluicegate.database import Store
from sluicegate.database.tables import iceberg_field_ids as rows
from sluicegate.protocols.common.resolver import OpenTable
from sluicegate.protocols.iceberg_rest.by_file.field_ids import Shapes
from sluicegate.tables.iceberg.shape import IcebergShape, fields_of
from sluicegate.tables.versions import DescribedVersion

__all__ = ["database_url"]

MAPPING = {"delta.columnMapping.mode": "name"}


def at(version: int, *fields: dict[str, Any], **config: str) -> DescribedVersion:
    return DescribedVersion.of(snapshot(version=version, metadata=table_metadata(fields, **config)))


def longs(version: int, *names: str) -> DescribedVersion:
    return at(version, *(schema_field(name, "long") for name in names))


def mapped(name: str, kind: Any, id_: int) -> dict[str, Any]:
    keys = {"delta.columnMapping.id": id_, "delta.columnMapping.physicalName": f"col-{name}"}
    return schema_field(name, kind, **keys)


def ids(shape: IcebergShape) -> dict[str, int]:
    return {each.name: each.id for each in fields_of(shape.schema)}


@pytest.fixture
async def stores(database_url: str) -> AsyncIterator[list[Store]]:
    """Two processes' stores on one database."""
    opened = [await Store.open(database_url), await Store.open(database_url)]
    yield opened
    for each in opened:
        await each.aclose()


@pytest.fixture
async def table() -> OpenTable:
    return await memory_gateway().open(shared_table())


async def test_another_process_has_the_same_ids(stores: list[Store], table: OpenTable) -> None:
    first, second = map(Shapes, stores)
    assert ids(await first.of(table, longs(0, "a", "b"))) == {"a": 1, "b": 2}
    assert ids(await second.of(table, longs(1, "c", "b"))) == {"c": 3, "b": 2}
    assert ids(await first.of(table, longs(2, "b", "a", "c"))) == {"b": 2, "a": 4, "c": 3}
    assert ids(await second.of(table, longs(0, "a", "b"))) == {"a": 1, "b": 2}


async def test_processes_that_assign_at_the_same_time_agree(
    stores: list[Store], table: OpenTable
) -> None:
    versions = [
        longs(number, *(f"c{number}{place}" for place in range(3)), "all") for number in range(4)
    ]
    shapes = [Shapes(store) for store in stores for _ in versions]
    asked = [each.of(table, read) for each, read in zip(shapes, versions * 2, strict=True)]
    made = await asyncio.gather(*asked)
    assert [ids(each) for each in made[:4]] == [ids(each) for each in made[4:]]
    assert {ids(each)["all"] for each in made} == {ids(made[0])["all"]}
    async with stores[0].read() as connection:
        kept = (await connection.execute(select(rows.c.field_id, rows.c.name))).all()
    assert len({number for number, _ in kept}) == len(kept)
    again = [await Shapes(stores[0]).of(table, each) for each in versions]
    assert [ids(each) for each in again] == [ids(each) for each in made[:4]]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
async def test_a_widened_column_keeps_its_id_in_any_order_of_reading(
    stores: list[Store], table: OpenTable, order: tuple[int, ...]
) -> None:
    kinds = ["byte", "integer", "long"]
    read = [at(number, schema_field("a", kind)) for number, kind in enumerate(kinds)]
    found = [ids(await Shapes(stores[0]).of(table, read[number])) for number in order]
    assert found == [{"a": 1}] * 3


async def test_a_column_that_was_dropped_and_added_again_has_another_id(
    stores: list[Store], table: OpenTable
) -> None:
    shapes = Shapes(stores[0])
    for version, names in enumerate((("a", "b"), ("a",), ("a", "b"))):
        await shapes.of(table, longs(version, *names))
    other = Shapes(stores[1])
    assert ids(await other.of(table, longs(2, "a", "b"))) == {"a": 1, "b": 3}
    assert ids(await other.of(table, longs(0, "a", "b"))) == {"a": 1, "b": 2}
    assert (await other.of(table, longs(1, "a"))).last_column_id == 3


async def test_nested_fields_have_ids_of_their_own(stores: list[Store], table: OpenTable) -> None:
    inner = {"type": "array", "elementType": {"type": "struct", "fields": [schema_field("a", "long")]}}
    fields = (schema_field("a", "long"), schema_field("l", inner))
    made = await Shapes(stores[0]).of(table, at(0, *fields))
    assert [each.id for each in fields_of(made.schema)] == [1, 2, 3, 4]
    assert await Shapes(stores[1]).of(table, at(1, *fields)) == made


async def test_nothing_is_written_when_nothing_changes(stores: list[Store], table: OpenTable) -> None:
    await Shapes(stores[0]).of(table, longs(0, "a", "b"))
    before = await stores[0].revision()
    for version in (0, 1, 5):
        await Shapes(stores[0]).of(table, longs(version, "b", "a"))
    assert await stores[0].revision() == before


async def test_ids_of_mapped_columns_are_not_kept(stores: list[Store], table: OpenTable) -> None:
    before = await stores[0].revision()
    made = await Shapes(stores[0]).of(table, at(0, mapped("a", "long", 7), **MAPPING))
    assert (ids(made), made.last_column_id) == ({"a": 7}, 7)
    assert await stores[0].revision() == before


async def test_elements_between_mapped_columns_get_ids_that_no_column_can_have(
    stores: list[Store], table: OpenTable
) -> None:
    """A table with mapped columns has lists of structs, whose elements have no ids."""
    inner = {"type": "array", "elementType": {"type": "struct", "fields": [mapped("x", "long", 2)]}}
    fields = [mapped("l", inner, 1)]
    element = 1 << 30
    for version in range(4):
        made = await Shapes(stores[version % 2]).of(table, at(version, *fields, **MAPPING))
        assert ids(made)["element"] == element
        assert made.last_column_id == element
        fields.append(mapped(f"c{version}", "long", 3 + version))


async def test_each_table_has_its_own_ids_but_all_shares_of_a_table_the_same(
    stores: list[Store], table: OpenTable
) -> None:
    shapes = Shapes(stores[0])
    await shapes.of(table, longs(0, "a", "b"))
    again = replace(table, shared=replace(table.shared, id="other", share="other", name="other"))
    assert ids(await shapes.of(again, longs(0, "a", "b"))) == {"a": 1, "b": 2}
    created = longs(0, "b")
    metadata = replace(created.metadata, id="created again")
    assert ids(await shapes.of(table, replace(created, metadata=metadata))) == {"b": 1}
    for other in (
        replace(table, source=catalog_table("others")),
        replace(table, shared=replace(table.shared, catalog="other")),
    ):
        assert ids(await shapes.of(other, longs(0, "b"))) == {"b": 1}


async def test_a_table_that_is_refused_gets_no_ids(stores: list[Store], table: OpenTable) -> None:
    read = at(0, schema_field("a", "long"), schema_field("v", "void"))
    for _ in range(2):
        with pytest.raises(UnsupportedOperation, match="the type void, which Iceberg lacks"):
            await Shapes(stores[0]).of(table, read)
    async with stores[0].read() as connection:
        assert (await connection.execute(select(rows))).all() == []


async def test_a_database_that_is_gone_is_unavailable_and_nothing_is_kept(
    tmp_path: Any, table: OpenTable
) -> None:
    store = await Store.open(f"sqlite:///{tmp_path}/sluicegate.db")
    await store.aclose()
    gone = await Store.open(f"sqlite:///{tmp_path}/sluicegate.db")
    async with gone.write() as connection:
        await connection.run_sync(lambda sync: rows.drop(sync))
    try:
        shapes = Shapes(gone)
        for _ in range(2):
            with pytest.raises(Unavailable):
                await shapes.of(table, longs(0, "a"))
    finally:
        await gone.aclose()
