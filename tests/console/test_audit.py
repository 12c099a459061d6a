"""The audit log in the console: searched, read record by record, and downloaded."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from console.conftest import Site, settings
from support.audit.records import EXAMPLE, ignore, numbered

from sluicegate.app import Gateway
from sluicegate.audit.assembly import audit_log
from sluicegate.config.sections.audit import AuditSettings

HOSTILE = "<script>alert(1)</script>"
LATER = "since=2100-01-01T00:00"  # without the records of these requests


async def record(site: Site, *changed: dict[str, Any]) -> None:
    """Write records."""
    gateway = site.gateway
    configured = gateway.parts.settings.model_copy(update={"audit": AuditSettings()})
    async with audit_log(configured, gateway.parts.keys, gateway.parts.store, ignore) as log:
        for number, each in enumerate(changed):
            await log.write(numbered(number, **each))


async def test_records_are_searched_with_filters(site: Site) -> None:
    await record(
        site,
        {"outcome": "refused", "rule": "network 10.0.0.0/8"},
        {"actor": "both"},
        {"actor_kind": "admin", "actor": "root", "action": "putShare", "changes": ("+ share sales",)},
    )
    browser = await site.logged_in("admin")
    page = await browser.open(f"/console/audit?{LATER}")
    assert len(page.document.xpath("//tbody/tr")) == 3
    for fields, expected in (
        ({"recipient": "ACME", "outcome": "refused"}, "network 10.0.0.0/8"),
        ({"recipient": "both"}, "both"),
        ({"admin": "root", "action": "putshare"}, "putShare"),
    ):
        await browser.open(f"/console/audit?{LATER}")
        page = await browser.submit("Search", **fields)
        (row,) = page.document.xpath("//tbody/tr")
        assert expected in row.text_content()
        assert all(page.form("Search").fields[name] == value for name, value in fields.items())
    page = await browser.open(f"/console/audit?{LATER}&until=2100-01-01T00:00")
    assert "There are no such records." in page.text
    page = await browser.open("/console/audit?outcome=denied")
    assert (page.status, "There is no outcome 'denied'" in page.text) == (400, True)


async def test_the_page_of_a_record_has_all_its_values(site: Site) -> None:
    await record(site, {"rule": HOSTILE, "changes": ("~ share sales", HOSTILE), "resource": HOSTILE})
    browser = await site.logged_in("admin")
    page = await browser.open(f"/console/audit?{LATER}")
    assert "<script" not in page.source
    (link,) = page.document.xpath("//tbody//th/a/@href")
    page = await browser.open(link)
    assert page.status == 200
    for value in ("~ share sales", "alert(1)", str(EXAMPLE.address), "0f0e", "urls"):
        assert value in page.text
    assert "<script" not in page.source
    (mac,) = page.document.xpath("//section[@aria-labelledby='chain']//dd[@class='name']/text()")
    assert len(bytes.fromhex(mac)) >= 16
    for missing in ("1/999999", "99/1", f"{'9' * 40}/{'9' * 40}"):
        assert (await browser.open(f"/console/audit/{missing}")).status == 404


async def test_records_are_shown_in_pages_and_downloaded_as_lines(site: Site) -> None:
    await record(site, *({"action": f"a{number}"} for number in range(120)))
    browser = await site.logged_in("admin")
    found: list[str] = []
    page = await browser.open(f"/console/audit?{LATER}")
    for _ in range(5):
        found += [each.text_content() for each in page.document.xpath("//tbody/tr/td[2]")]
        following = page.document.xpath("//a[@rel='next']/@href")
        if not following:
            break
        page = await browser.open(following[0])
    assert found == [f"a{number}" for number in reversed(range(120))]
    (download,) = (await browser.open(f"/console/audit?{LATER}&action=a7")).document.xpath(
        "//a[@download]/@href"
    )
    answer = await browser.send("GET", download)
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert answer.headers["content-disposition"].startswith("attachment")
    (line,) = map(orjson.loads, answer.body.splitlines())
    assert (line["action"], line["at"][:4]) == ("a7", "2100")


async def test_an_administrator_of_some_shares_sees_only_their_records(site: Site) -> None:
    await record(site, {}, {"share": "returns", "resource": "returns.eu"}, {"share": None})
    limited = await site.logged_in("admin", "returns")
    page = await limited.open(f"/console/audit?{LATER}")
    (link,) = page.document.xpath("//tbody//th/a/@href")
    assert (await limited.open(link)).status == 200
    owner = await site.logged_in("owner")
    links = (await owner.open(f"/console/audit?{LATER}")).document.xpath("//tbody//th/a/@href")
    for other in {*links} - {link}:
        assert (await limited.open(other)).status == 404
    lines = (await limited.send("GET", f"/console/audit/records.ndjson?{LATER}")).body.splitlines()
    assert [orjson.loads(each)["share"] for each in lines] == ["returns"]
    assert (await limited.open("/console/audit?share=sales")).status == 403


async def test_viewers_cannot_read_the_audit_log(site: Site) -> None:
    viewer = await site.logged_in("viewer")
    assert not any("audit" in link for link in viewer.page.links)
    for path in ("", "/1/1", "/records.ndjson"):
        assert (await viewer.open(f"/console/audit{path}")).status == 403
    recipient = await viewer.open("/console/recipients/acme")
    assert not any("audit" in link for link in recipient.links)


async def test_the_page_of_a_recipient_leads_to_its_refusals(site: Site) -> None:
    await record(site, {"outcome": "refused"}, {"actor": "both", "outcome": "refused"}, {})
    browser = await site.logged_in("admin")
    page = await browser.open("/console/recipients/acme")
    (link,) = [each for each in page.links if "outcome=refused" in each]
    page = await browser.open(f"{link.removeprefix('https://share.example')}&{LATER}")
    assert len(page.document.xpath("//tbody/tr")) == 1


@pytest.mark.parametrize(
    ("audit", "message"),
    [
        ("off", "The audit log is off"),
        ("file", "has no sink of the type database"),
    ],
)
async def test_the_page_says_how_to_record_decisions(
    database_url: str, tmp_path: Path, audit: str, message: str
) -> None:
    section = {"sinks": [{"type": "file", "path": f"{tmp_path}/audit"}]} if audit == "file" else audit
    async with AsyncExitStack() as stack:
        configured = settings(database_url, audit=section)
        site = Site(await stack.enter_async_context(Gateway.running(configured)))
        browser = await site.logged_in("admin")
        assert message in (await browser.open("/console/audit")).text


async def test_logins_and_logouts_are_recorded_with_their_administrator(site: Site) -> None:
    browser = site.browser()
    await browser.open("/console/login")
    await browser.submit("Log in", token="slgadm_" + "0" * 43)
    browser = await site.logged_in("admin")
    await browser.submit("Log out")
    browser = await site.logged_in("admin")
    page = await browser.open("/console/audit?action=POST /console/login")
    rows = [" ".join(" ".join(each.itertext()).split()) for each in page.document.xpath("//tbody/tr")]
    assert [row.partition("Z ")[2] for row in rows] == [
        "admin admin POST /console/login allowed role admin",
        "admin admin POST /console/login allowed role admin",
        "anonymous POST /console/login refused authentication",
    ]
    page = await browser.open("/console/audit?admin=admin&action=POST /console/logout")
    assert len(page.document.xpath("//tbody/tr")) == 1
