"""Listings of Polaris' generic tables, with and without failures."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from sluicegate.api import Unavailable
from sluicegate_iceberg.catalog import GenericTables, IcebergCatalog
from sluicegate_iceberg.rest.client import IcebergClient
from sluicegate_testing.servers.polaris import Polaris, Reply

from .conftest import Clock, section

Connect = Callable[..., IcebergCatalog]

CLICKS = "/generic-tables/clicks"
FINE = ["clicks", "visits"]


@pytest.fixture(autouse=True)
def _tables(polaris: Polaris) -> None:
    for name in ("clicks", "visits"):
        polaris.add_generic(("ns0",), name, "delta", f"s3://lake/generic/{name}")
    polaris.add_generic(("ns0",), "images", "lance", "s3://lake/generic/images")


@pytest_asyncio.fixture
async def generic(polaris: Polaris, clock: Clock) -> AsyncIterator[GenericTables]:
    client = IcebergClient.configured("lake", section(polaris))
    yield GenericTables(client, patience=0.5, clock=clock)
    await client.aclose()


BROKEN = [
    Reply.error(500, "RuntimeException", "private words"),
    Reply(200, b"<html>welcome</html>"),
    Reply(200, {"table": {"name": "clicks"}}),
    Reply(302, b"", {"Location": "http://127.0.0.1:9/"}),
]


@pytest.mark.parametrize("reply", BROKEN, ids=["500", "html", "shape", "redirect"])
async def test_a_broken_table_hides_no_other_one(
    polaris: Polaris, connect: Connect, reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    polaris.tell(CLICKS, reply)
    catalog = connect()
    assert await catalog.list_tables("ns0") == ["t0", "visits"]
    assert "the generic table ns0.clicks is not listed" in caplog.text
    with pytest.raises(Unavailable):
        await catalog.load_table("ns0.clicks")


async def test_a_slow_table_hides_no_other_one(
    polaris: Polaris, generic: GenericTables, caplog: pytest.LogCaptureFixture
) -> None:
    polaris.delay(CLICKS, 2)
    assert await generic.delta_tables(("ns0",)) == ["visits"]
    assert "the generic table ns0.clicks is not listed: no response in time" in caplog.text


async def test_a_table_that_breaks_is_listed_as_it_was_known(
    polaris: Polaris, generic: GenericTables, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    assert await generic.delta_tables(("ns0",)) == FINE
    for name in ("clicks", "images"):
        polaris.tell(f"/generic-tables/{name}", BROKEN[0])
    clock.now += 600
    assert await generic.delta_tables(("ns0",)) == FINE
    assert "the generic table ns0.clicks is listed according to its last known format" in caplog.text


@pytest.mark.parametrize(("seconds", "asked"), [(29, 1), (30, 2)])
async def test_a_broken_table_is_read_again_after_half_a_minute(
    polaris: Polaris, generic: GenericTables, clock: Clock, seconds: int, asked: int
) -> None:
    polaris.tell(CLICKS, BROKEN[0])
    assert await generic.delta_tables(("ns0",)) == ["visits"]
    polaris.tell(CLICKS, Reply(200, {"table": {"name": "clicks", "format": "delta"}}))
    clock.now += seconds
    assert await generic.delta_tables(("ns0",)) == (FINE if asked == 2 else ["visits"])
    assert len(polaris.requests_to(CLICKS)) == asked


@pytest.mark.parametrize(("seconds", "asked"), [(0, 3), (599, 3), (600, 6)])
async def test_what_a_table_is_is_believed_for_ten_minutes(
    polaris: Polaris, generic: GenericTables, clock: Clock, seconds: int, asked: int
) -> None:
    assert await generic.delta_tables(("ns0",)) == FINE
    clock.now += seconds
    assert await generic.delta_tables(("ns0",)) == FINE
    assert sum("/generic-tables/" in each.path for each in polaris.requests) == asked


async def test_a_table_dropped_or_added_meanwhile_counts_at_once(
    polaris: Polaris, generic: GenericTables
) -> None:
    await generic.delta_tables(("ns0",))
    del polaris.generic[("ns0",), "clicks"]
    polaris.add_generic(("ns0",), "zebras", "delta", "s3://lake/generic/zebras")
    assert await generic.delta_tables(("ns0",)) == ["visits", "zebras"]
