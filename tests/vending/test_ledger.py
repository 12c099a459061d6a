"""What the ledger holds, when it holds it, and that it never holds a secret."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Any

import pytest
from sqlalchemy import text

from sluicegate.api import Event, IssuedAccess, Unavailable
from sluicegate.database import Store
from sluicegate.vending import Ledger
from sluicegate.vending.entries import LedgerEntry
from sluicegate.vending.ledger_search import LedgerQuery, entries_from

from .conftest import LIFETIME, ORDERS, ROOT, Desk

HOUR = 3_600_000


def entry(desk: Desk, name: str = "acme", **changed: Any) -> LedgerEntry:
    now = desk.clock()
    made = LedgerEntry.of(
        desk.principals[name],
        ORDERS,
        (ROOT,),
        kind="credentials",
        given_at=now,
        issued_at=now,
        expires_at=now + HOUR,
        cloud="aws",
    )
    return replace(made, **changed)


async def test_credentials_are_recorded_before_they_leave(desk: Desk) -> None:
    credentials = await desk.vending.issue(
        desk.principals["acme"], ORDERS, desk.source, binding="session"
    )
    [found] = await desk.entries()
    assert asdict(found) | {"id": "", "issued_at": 0} == {
        "id": "",
        "given_at": desk.clock(),
        "issued_at": 0,
        "expires_at": credentials.expires_at,
        "kind": "credentials",
        "cloud": "aws",
        "binding": "session",
        "recipient_id": desk.principals["acme"].id,
        "recipient": "acme",
        "share": "sales",
        "schema": "eu",
        "table": "orders",
        "table_id": "t1",
        "locations": (ROOT,),
        "files": None,
        "address": "192.0.2.7",
        "request_id": None,
        "asset": None,
    }


async def test_credentials_given_again_are_an_entry_of_their_own(desk: Desk) -> None:
    acme = desk.principals["acme"]
    async with desk.ledger.writing():
        await desk.vending.issue(acme, ORDERS, desk.source)
        desk.clock.advance(60_000)
        await desk.vending.issue(replace(acme, address="192.0.2.8"), ORDERS, desk.source)
    newer, older = await desk.entries()
    assert (newer.address, older.address) == ("192.0.2.8", "192.0.2.7")
    assert newer.issued_at == older.issued_at == older.given_at == newer.given_at - 60_000
    assert newer.expires_at == older.expires_at


async def test_what_cannot_be_recorded_is_not_given(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(desk.store, "append", _unavailable)
        with pytest.raises(Unavailable):
            await desk.vending.issue(desk.principals["acme"], ORDERS, desk.source)
    assert await desk.entries() == []
    await desk.vending.issue(desk.principals["acme"], ORDERS, desk.source)
    assert len(desk.vendor.scopes) == 2  # nor was it kept


@asynccontextmanager
async def _unavailable() -> Any:
    raise Unavailable("the gateway's database does not respond; try again later")
    yield


async def test_no_secret_is_in_the_database(desk: Desk) -> None:
    async with desk.ledger.writing():
        for _ in range(2):
            await desk.vending.issue(desk.principals["acme"], ORDERS, desk.source)
    async with desk.store.read() as connection:
        rows = (await connection.execute(text("SELECT * FROM ledger"))).all()
    stored = repr(rows)
    assert len(rows) == 2
    for secret in desk.vendor.answered[0].secret.values():
        assert secret not in stored


async def test_noted_entries_are_written_in_the_background(desk: Desk) -> None:
    async with desk.ledger.writing():
        desk.ledger.note(entry(desk))
        assert await desk.entries() == []
        await _until(lambda: desk.entries())


async def test_noted_entries_are_written_at_the_end(desk: Desk) -> None:
    noted = [entry(desk) for _ in range(1200)]
    async with desk.ledger.writing():
        for each in noted:
            desk.ledger.note(each)
    found = await desk.entries(LedgerQuery(limit=2000))
    assert {each.id for each in found} == {each.id for each in noted}


async def test_an_entry_grows_while_its_urls_are_signed(desk: Desk) -> None:
    first = entry(desk, kind="urls", files=1000)
    async with desk.ledger.writing():
        desk.ledger.note(first)
        await desk.ledger.flush()
        desk.ledger.note(replace(first, files=1700, expires_at=desk.clock() + 2 * HOUR))
    [found] = await desk.entries()
    assert (found.files, found.expires_at) == (1700, desk.clock() + 2 * HOUR)


async def test_entries_outlive_a_database_that_is_away_for_a_while(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    noted = entry(desk)
    with monkeypatch.context() as broken:
        broken.setattr(desk.store, "append", _unavailable)
        desk.ledger.note(noted)
        assert not await desk.ledger.flush()
    assert await desk.ledger.flush()
    assert await desk.entries() == [noted]
    assert "the ledger cannot be written" in caplog.text


async def test_what_waits_is_bounded_and_what_is_lost_is_reported(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger(desk.store, retention=86_400, now=desk.clock, capacity=10)
    for _ in range(15):
        ledger.note(entry(desk))
    await ledger.flush()
    assert len(await desk.entries()) == 10
    assert "the ledger lost 5 entries" in caplog.text


async def test_the_caches_of_grants_survive_the_ledgers_writes(desk: Desk, store: Store) -> None:
    before = await store.revision()
    await desk.ledger.write(entry(desk))
    assert await store.revision() == before


async def test_old_entries_are_deleted(desk: Desk) -> None:
    old = entry(desk, given_at=desk.clock() - 25 * HOUR)
    young = entry(desk, given_at=desk.clock() - 23 * HOUR)
    for each in (old, young):
        await desk.ledger.write(each)
    async with desk.ledger.writing():
        await _until(lambda: _is(desk, [young]))


async def _is(desk: Desk, wanted: list[LedgerEntry]) -> bool:
    return await desk.entries() == wanted


async def _until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not await condition():  # noqa: ASYNC110  (the database tells nobody)
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, "dcba"),
        ({"limit": 2}, "dc"),
        ({"recipient": "acme"}, "cba"),
        ({"recipient": "ACME"}, "cba"),
        ({"recipient": "nobody"}, ""),
        ({"share": "Sales"}, "dba"),
        ({"table": "orders"}, "dcba"),
        ({"table": "EU.orders"}, "dba"),
        ({"table": "sales.eu.Orders"}, "dba"),
        ({"table": "a.b.us.orders"}, "c"),
        ({"table": "us.eu"}, ""),
        ({"kind": "urls"}, "b"),
        ({"since": 2 * HOUR}, "dcb"),
        ({"until": 2 * HOUR}, "a"),
        ({"active_at": 3 * HOUR}, "dca"),
    ],
    ids=str,
)
async def test_queries(desk: Desk, query: dict[str, Any], found: str) -> None:
    kept = {"kind": "credentials"}
    entries = [
        entry(desk, id="a", given_at=HOUR, expires_at=None),
        entry(desk, id="b", given_at=2 * HOUR, expires_at=3 * HOUR, kind="urls"),
        entry(desk, id="c", given_at=3 * HOUR, expires_at=4 * HOUR, share="a.b", schema="us"),
        entry(desk, "rival", id="d", given_at=4 * HOUR, expires_at=5 * HOUR, **kept),
    ]
    for each in entries:
        await desk.ledger.write(each)
    assert "".join(each.id for each in await desk.entries(LedgerQuery(**query))) == found


async def test_plugins_receive_names_and_numbers(desk: Desk) -> None:
    acme = desk.principals["acme"]
    await desk.vending.issue(acme, ORDERS, desk.source)
    [found] = await desk.entries()
    assert desk.events == [
        Event(
            "issued.credentials",
            desk.clock(),
            acme,
            {
                "issuance": found.id,
                "table": "sales.eu.orders",
                "table_id": "t1",
                "location": ROOT,
                "cloud": "aws",
                "expires_at": found.expires_at or LIFETIME,
            },
        )
    ]
    for secret in desk.vendor.answered[0].secret.values():
        assert secret not in json.dumps(dict(desk.events[0].attributes))


async def test_pages_have_every_entry_once_and_show_growth(desk: Desk) -> None:
    now = desk.clock()
    made = [entry(desk, id=f"e{number}", given_at=now + number // 3) for number in range(7)]
    for each in (made[4], made[0], made[6], made[2], made[1], made[5], made[3]):
        await desk.ledger.write(each)

    async def pages(since: int, limit: int) -> list[str]:
        found: list[IssuedAccess] = []
        async with desk.store.read() as connection:
            after = None
            while page := await entries_from(connection, since, after, limit):
                assert len(page) <= limit
                found += page
                after = page[-1].given_at, page[-1].id
        return [each.id for each in found]

    for limit in (1, 2, 3, 7):
        assert await pages(now, limit) == [each.id for each in made]
    assert await pages(now + 2, 2) == ["e6"]
    await desk.ledger.write(replace(made[6], kind="urls", files=9, expires_at=now + 2 * HOUR))
    async with desk.store.read() as connection:
        [grown] = await entries_from(connection, now + 2, None, 10)
    assert (grown.files, grown.expires_at, grown.locations) == (9, now + 2 * HOUR, (ROOT,))
