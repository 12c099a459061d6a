"""Usage is summed from the ledger by day, recipient, share and table, with and without summaries."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import insert, select

from sluicegate.access.limits.daily_use import Amount
from sluicegate.access.limits.rows import add_use
from sluicegate.access.recipients.service import Recipients
from sluicegate.database import Store
from sluicegate.database.tables import ledger, ledger_days
from sluicegate.vending import Ledger
from sluicegate.vending.usage.models import (
    DAY_MS,
    USAGE_BY,
    UsageBy,
    UsageQuery,
    UsageReport,
    day_text,
    parse_day,
)
from sluicegate.vending.usage.report import read_usage
from sluicegate.vending.usage.summaries import first_open_day, summarize_days

TODAY = 20_000
NOW = TODAY * DAY_MS + 3_600_000
MONTH = UsageQuery("day", TODAY - 29, TODAY)


def entry(number: int, day: int, **changed: Any) -> dict[str, Any]:
    """A row of the ledger."""
    return {
        "id": str(number),
        "given_at": day * DAY_MS + number % DAY_MS,
        "issued_at": 0,
        "kind": "urls",
        "recipient_id": "r1",
        "recipient": "acme",
        "share": "sales",
        "schema": "eu",
        "table": "orders",
        "table_id": "t1",
        "locations": [],
        "files": 3,
        "asset": None,
        **changed,
    }


def many(seed: int) -> list[dict[str, Any]]:
    """Entries of 12 days."""
    random_ = random.Random(seed)
    return [
        entry(
            number,
            TODAY - random_.randrange(12),
            recipient=random_.choice(("acme", "Zürich", "ZÜRICH", "both")),
            share=random_.choice(("sales", "Sales", "eu.returns")),
            table=random_.choice(("orders", "lines")),
            asset=random_.choice((None, "volume")),
            kind=(kind := random_.choice(("urls", "credentials", "hadoop-token", "iceberg-config"))),
            files=random_.randrange(2000) if kind == "urls" else None,
        )
        for number in range(400)
    ]


async def write(store: Store, entries: Sequence[dict[str, Any]]) -> None:
    async with store.append() as connection:
        await connection.execute(insert(ledger), list(entries))


async def usage(store: Store, query: UsageQuery) -> UsageReport:
    async with store.read() as connection:
        return await read_usage(connection, query)


def expected(entries: Sequence[dict[str, Any]], by: UsageBy) -> dict[Any, tuple[int, int, int]]:
    """The sums, computed in the plainest way."""
    keys: dict[UsageBy, Callable[[dict[str, Any]], Any]] = {
        "day": lambda each: each["given_at"] // DAY_MS,
        "recipient": lambda each: each["recipient"],
        "share": lambda each: each["share"],
        "table": lambda each: (each["share"], each["schema"], each["table"], each["asset"]),
    }
    found: dict[Any, tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    for each in entries:
        old = found[keys[by](each)]
        one = (1, int(each["kind"] != "urls"), each["files"] or 0)
        found[keys[by](each)] = (old[0] + one[0], old[1] + one[1], old[2] + one[2])
    return dict(found)


def shown(report: UsageReport) -> dict[Any, tuple[int, int, int]]:
    """The rows of a report in the form of `expected`."""
    by = report.query.by
    return {
        row.day if by == "day" else (*row.names, row.asset) if by == "table" else row.names[0]: (
            row.usage.responses,
            row.usage.credentials,
            row.usage.files,
        )
        for row in report.rows
    }


@pytest.mark.parametrize("summarized", [False, True])
@pytest.mark.parametrize(
    ("filters", "keeps"),
    [
        ({}, lambda each: True),
        ({"recipient": "zürich"}, lambda each: each["recipient"].casefold() == "zürich"),
        ({"share": "SALES"}, lambda each: each["share"].casefold() == "sales"),
        ({"table": "lines"}, lambda each: each["table"] == "lines"),
        (
            {"recipient": "acme", "table": "eu.returns.eu.orders"},
            lambda each: (
                (each["recipient"], each["share"], each["table"]) == ("acme", "eu.returns", "orders")
            ),
        ),
        ({"shares": ["sales"]}, lambda each: each["share"].casefold() == "sales"),
        ({"shares": ["sales"], "share": "eu.returns"}, lambda each: False),
        ({"shares": []}, lambda each: False),
    ],
)
async def test_usage_is_the_sum_of_the_entries(
    store: Store, filters: dict[str, Any], keeps: Any, summarized: bool
) -> None:
    entries = many(7)
    await write(store, entries)
    if summarized:
        await summarize_days(store, NOW, 0)
    kept = [each for each in entries if keeps(each)]
    for by in USAGE_BY:
        report = await usage(store, UsageQuery(by, TODAY - 29, TODAY, **filters))
        assert shown(report) == expected(kept, by)
        assert report.total.responses == len(kept)
        assert report.total.files == sum(each["files"] or 0 for each in kept)


async def test_days_that_can_still_change_are_not_summarized(store: Store) -> None:
    await write(store, [entry(day, TODAY - day) for day in range(5)])
    await summarize_days(store, NOW, 0)
    async with store.read() as connection:
        assert await first_open_day(connection) == TODAY - 1
    await write(store, [entry(10, TODAY), entry(11, TODAY - 1)])
    assert {row.day: row.usage.responses for row in (await usage(store, MONTH)).rows} == {
        TODAY: 2,
        TODAY - 1: 2,
        TODAY - 2: 1,
        TODAY - 3: 1,
        TODAY - 4: 1,
    }


async def test_the_newest_summary_is_made_again_for_entries_that_were_late(store: Store) -> None:
    await write(store, [entry(1, TODAY - 2), entry(2, TODAY - 8)])
    await summarize_days(store, NOW, 0)
    await write(store, [entry(3, TODAY - 2, files=None, kind="credentials")])
    await summarize_days(store, NOW, 0)
    report = await usage(store, MONTH)
    assert [(row.title, row.usage.responses, row.usage.files) for row in report.rows] == [
        (day_text(TODAY - 8), 1, 3),
        (day_text(TODAY - 2), 2, 3),
    ]


async def test_gateways_that_summarize_at_the_same_time_count_once(store: Store) -> None:
    entries = many(3)
    await write(store, entries)
    await asyncio.gather(*(summarize_days(store, NOW, 0) for _ in range(4)))
    for by in USAGE_BY:
        report = await usage(store, UsageQuery(by, TODAY - 29, TODAY))
        assert shown(report) == expected(entries, by)


async def test_summaries_are_deleted_with_the_last_entries_of_their_day(store: Store) -> None:
    await write(store, [entry(number, TODAY - 2 * number) for number in range(5)])
    await summarize_days(store, NOW, 0)
    await summarize_days(store, NOW, NOW - 4 * DAY_MS)
    async with store.read() as connection:
        days = await connection.scalars(select(ledger_days.c.day).distinct())
        assert sorted(days) == [TODAY - 4, TODAY - 3, TODAY - 2]


@pytest.mark.parametrize("by", USAGE_BY)
async def test_rows_are_bounded_and_the_total_is_not(store: Store, by: UsageBy) -> None:
    await write(
        store,
        [
            entry(day * 10 + n, TODAY - day, recipient=f"r{day}", share=f"s{day}")
            for day in range(4)
            for n in range(day + 1)
        ],
    )
    report = await usage(store, UsageQuery(by, TODAY - 29, TODAY, limit=2))
    assert (len(report.rows), report.truncated, report.total.responses) == (2, True, 10)
    # The newest days in their order, or the others with the most responses.
    assert [row.usage.responses for row in report.rows] == ([2, 1] if by == "day" else [4, 3])


async def test_days_outside_of_the_range_are_left_out(store: Store) -> None:
    await write(store, [entry(day, TODAY - day) for day in range(6)])
    await summarize_days(store, NOW, 0)
    report = await usage(store, UsageQuery("day", TODAY - 4, TODAY - 1))
    assert [row.day for row in report.rows] == [TODAY - day for day in (4, 3, 2, 1)]


async def test_bytes_are_those_that_limits_count(store: Store) -> None:
    recipients = Recipients(store, token_lifetime=86_400, rotation_grace=0)
    for name in ("acme", "rival"):
        await recipients.create(name)
    ids = {each.name: each.id for each in await recipients.list()}
    async with store.append() as connection:
        await add_use(
            connection, {(ids["acme"], TODAY - day): Amount(1, 100 + day) for day in (0, 1, 40)}
        )
    await write(store, [entry(1, TODAY), entry(2, TODAY, recipient="rival")])
    report = await usage(store, UsageQuery("recipient", TODAY - 29, TODAY))
    assert {row.title: row.usage.bytes for row in report.rows} == {"acme": 201, "rival": None}
    # A limit counts all shares of a recipient, so its bytes say nothing about one of them.
    of_share = await usage(store, UsageQuery("recipient", TODAY - 29, TODAY, share="sales"))
    assert [row.usage.bytes for row in of_share.rows] == [None, None]


async def test_a_gateway_summarizes_days_while_it_writes_the_ledger(store: Store) -> None:
    await write(store, [entry(1, TODAY - 5), entry(2, TODAY)])
    writer = Ledger(store, retention=30 * 86_400, now=lambda: NOW)
    async with asyncio.timeout(30), writer.writing():
        while await _open_day(store) != TODAY - 1:  # noqa: ASYNC110  (the database tells nobody)
            await asyncio.sleep(0.05)


async def _open_day(store: Store) -> int | None:
    async with store.read() as connection:
        return await first_open_day(connection)


def test_days_are_read_as_they_are_written() -> None:
    assert [parse_day(day_text(day)) for day in (0, TODAY)] == [0, TODAY]
    with pytest.raises(ValueError, match="before 1970"):
        parse_day("1969-12-31")
