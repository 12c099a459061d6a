"""Usage in the console: plots and tables of the same numbers, for the shares of an administrator."""

from __future__ import annotations

import itertools
import time
from typing import Any
from uuid import uuid4

import pytest
from console.conftest import Site
from sqlalchemy import insert

from sluicegate.admin.console.pages.usage import (
    WIDTH,
    axis_ticks,
    plot_by_day,
    plot_largest,
    short_number,
)
from sluicegate.database.tables import ledger
from sluicegate.vending.usage.models import DAY_MS, day_of, day_text

NOW = int(time.time() * 1000)
HOSTILE = "<script>alert(1)</script>\u202e'\""


async def offer(site: Site, **changed: Any) -> None:
    """Write an entry of the ledger."""
    values = {
        "id": str(uuid4()),
        "given_at": NOW,
        "issued_at": NOW,
        "kind": "urls",
        "recipient_id": "r1",
        "recipient": "acme",
        "share": "sales",
        "schema": "eu",
        "table": "orders",
        "table_id": "t1",
        "locations": [],
        "files": 3,
    }
    async with site.gateway.parts.store.append() as connection:
        await connection.execute(insert(ledger).values(values | changed))


async def test_usage_is_shown_by_day_recipient_share_and_table(site: Site) -> None:
    await offer(site)
    await offer(site, recipient="both", files=None, kind="credentials")
    await offer(site, given_at=NOW - 3 * DAY_MS, share="returns", files=1234)
    browser = await site.logged_in("viewer")
    page = await browser.open("/console/usage")
    rows = [[cell.text_content().strip() for cell in row] for row in page.document.xpath("//tbody/tr")]
    today = day_of(NOW)
    assert rows == [[day_text(today - 3), "1", "0", "1,234"], [day_text(today), "2", "1", "3"]]
    bars = [each.text_content() for each in page.document.xpath("//svg//rect/title")]
    # The page ends today, which is tomorrow for a run that goes on after midnight.
    assert bars.index(f"{day_text(today - 3)}: 1 responses") in (30 - 4, 30 - 5)
    assert f"{day_text(today)}: 3 files" in bars
    assert len(bars) == 2 * 30
    for by, names in (
        ("recipient", {"acme", "both"}),
        ("share", {"sales", "returns"}),
        ("table", {"sales.eu.orders", "returns.eu.orders"}),
    ):
        page = await browser.open(f"/console/usage?by={by}")
        found = {each.text_content().strip() for each in page.document.xpath("//tbody/tr/th")}
        assert found == names
        assert page.document.xpath("//svg/@role") == ["img", "img"]
    page = await browser.open("/console/usage?by=table&recipient=BOTH")
    assert [each.text_content() for each in page.document.xpath("//tbody/tr/th")] == ["sales.eu.orders"]


async def test_an_administrator_of_some_shares_sees_only_their_usage(site: Site) -> None:
    await offer(site)
    await offer(site, share="returns", recipient="secretive", table="lines")
    browser = await site.logged_in("viewer", "sales")
    for by in ("recipient", "share", "table", "day"):
        page = await browser.open(f"/console/usage?by={by}")
        assert ("secretive" in page.source, "returns" in page.source, "lines" in page.source) == (
            False,
            False,
            False,
        )
        (responses,) = page.document.xpath("//dl[@class='figures']/div[1]/dd/text()")
        assert responses == "1"
    assert (await browser.open("/console/usage?share=returns")).status == 403


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("by=hour", "by must be day, recipient, share or table"),
        ("since=yesterday", "since must be a date"),
        ("since=2026-02-01&until=2026-01-01", "since must not be after until"),
    ],
)
async def test_wrong_filters_are_explained(site: Site, query: str, message: str) -> None:
    page = await (await site.logged_in("viewer")).open(f"/console/usage?{query}")
    assert (page.status, message in page.text.casefold()) == (400, True)


async def test_names_in_plots_are_text(site: Site) -> None:
    await offer(site, recipient=HOSTILE)
    page = await (await site.logged_in("viewer")).open("/console/usage?by=recipient")
    assert page.status == 200
    assert "<script" not in page.source
    assert "\u202e" not in page.source
    assert "alert(1)" in page.text
    assert not page.document.xpath("//@style | //*[starts-with(name(@*), 'on')]")


@pytest.mark.parametrize("highest", [0, 1, 4, 5, 6, 11, 99, 1234, 10**6 + 1, 7 * 10**12])
def test_the_axis_covers_the_highest_bar_with_few_ticks(highest: int) -> None:
    ticks = axis_ticks(highest)
    assert (ticks[0], ticks[-1] >= max(highest, 1), 2 <= len(ticks) <= 6) == (0, True, True)
    assert {b - a for a, b in itertools.pairwise(ticks)} == {ticks[1]}


@pytest.mark.parametrize("days", [1, 2, 30, 366])
def test_bars_and_labels_of_days_stay_within_the_plot(days: int) -> None:
    plot = plot_by_day("Files", "files", [(day_text(20_000 + day), day % 7) for day in range(days)])
    assert len(plot.bars) == days
    for bar in plot.bars:
        assert plot.left <= bar.x
        assert bar.x + bar.width <= WIDTH
        assert 0 <= bar.y <= bar.y + bar.height <= plot.height
    shown = [each.x for each in plot.labels if each.anchor == "middle"]
    assert all(b - a > 70 for a, b in itertools.pairwise(shown))
    assert shown or days == 1


def test_the_description_contains_the_largest_value() -> None:
    plot = plot_largest("Tables", "files", [("a" * 80, 5000), ("b", 0)])
    assert f"The largest is {'a' * 80} with 5,000" in plot.description
    assert [bar.width for bar in plot.bars] == [390.0, 0.0]
    assert max(len(label.text) for label in plot.labels) <= 34
    assert short_number(2_500_000) == "2.5 M"
