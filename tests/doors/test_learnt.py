"""What listings find out about tables while some catalogs do not answer."""

from __future__ import annotations

import asyncio
from typing import cast

from sluicegate.api import CatalogTable, SharedTable
from sluicegate.doors.learnt import LearntTables
from sluicegate.doors.resolve import Resolver


class Catalogs:
    """One catalog hangs, all others answer."""

    async def locate(self, shared: SharedTable) -> CatalogTable:
        if shared.catalog == "hanging":
            await asyncio.Event().wait()
        return CatalogTable(shared.name, "delta", f"s3://lake/{shared.name}")


def table(name: str, catalog: str) -> SharedTable:
    return SharedTable(
        id=name, share="s", share_id="s", schema="eu", name=name, catalog=catalog, identifier=name
    )


async def test_a_catalog_that_hangs_hides_no_table_of_another() -> None:
    learnt = LearntTables(cast("Resolver", Catalogs()), lambda shared, source: source.location)
    hanging = [table(f"a{number}", "hanging") for number in range(100)]
    others = [table(f"b{number}", "well") for number in range(40)]
    await learnt.learn([*hanging, *others])
    assert [learnt.known(each) for each in others] == [f"s3://lake/b{number}" for number in range(40)]
    assert not any(map(learnt.known, hanging))
