"""The login, and forms, which only pages of the same session can send."""

from __future__ import annotations

import pytest
from console.browser import Browser
from console.conftest import Site, settings

from sluicegate.app import Gateway

COOKIE = "__Host-sluicegate-session"


async def test_the_cookie_is_hidden_from_scripts_and_from_other_hosts(site: Site) -> None:
    browser = site.browser()
    await browser.open("/console/login")
    fields = dict(browser.page.form("Log in").form_values())
    answer = await browser.post(
        "/console/login", fields | {"token": await site.token("viewer"), "next": "/console/shares"}
    )
    (line,) = [each for each in answer.cookies if each.startswith(COOKIE)]
    attributes = {each.lower() for each in line.split("; ")[1:]}
    assert attributes == {"httponly", "secure", "path=/", "samesite=lax"}
    assert (answer.status, answer.headers["location"]) == (303, "/console/shares")
    assert await site.token("viewer") not in line


async def test_a_page_is_shown_after_the_login(site: Site) -> None:
    browser = site.browser()
    page = await browser.open("/console/recipients?filter=acme&state=")
    assert page.heading == "Log in"
    page = await browser.submit("Log in", token=await site.token("viewer"))
    assert page.address == "https://share.example/console/recipients?filter=acme&state="


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "/console\\..\\..",
        "/activate",
        "/consoles",
        "javascript:alert(1)",
        "/console/\r\nset-cookie: a=b",
    ],
)
async def test_the_login_leads_to_no_other_site(site: Site, wanted: str) -> None:
    browser = site.browser()
    await browser.open("/console/login")
    fields = dict(browser.page.form("Log in").form_values())
    fields |= {"token": await site.token("viewer"), "next": wanted}
    answer = await browser.post("/console/login", fields)
    assert (answer.status, answer.headers["location"]) == (303, "/console")


async def test_a_wrong_token_is_refused(site: Site) -> None:
    browser = site.browser()
    await browser.open("/console/login")
    page = await browser.submit("Log in", token=f"slgadm_{'x' * 43}")
    assert (page.status, page.heading) == (401, "Log in")
    assert "The administrator's token is unknown" in page.text
    assert "x" * 43 not in page.source
    assert COOKIE not in browser.cookies
    page = await browser.submit("Log in", token="")
    assert page.status == 401


@pytest.mark.parametrize(
    ("headers", "fields"),
    [
        ({"origin": "https://evil.example"}, {}),
        ({"origin": "null"}, {}),
        ({"origin": "https://share.example.evil.example"}, {}),
        ({"sec-fetch-site": "cross-site"}, {}),
        ({"sec-fetch-site": "same-site"}, {}),
        ({"sec-fetch-site": None, "origin": None}, {}),
        ({}, {"form_token": ""}),
        ({}, {"form_token": "A" * 86 + "=="}),
        ({}, {"form_token": "é"}),
        ({}, {"form_token": "other"}),
    ],
)
async def test_forms_of_other_sites_and_sessions_are_refused(
    site: Site, headers: dict[str, str | None], fields: dict[str, str]
) -> None:
    browser = await site.logged_in()
    await browser.open("/console/recipients/acme/delete")
    form = dict(browser.page.form("Delete the recipient").form_values())
    if fields.get("form_token") == "other":
        other = await site.logged_in()
        await other.open("/console/recipients/acme/delete")
        fields = {"form_token": dict(other.page.form("Log out").form_values())["form_token"]}
    browser.headers |= headers
    answer = await browser.post("/console/recipients/acme/delete", form | fields)
    assert answer.status == 403
    browser.headers = {}
    assert (await browser.open("/console/recipients/acme")).status == 200


async def test_a_form_of_a_proxied_host_is_accepted(site: Site) -> None:
    browser = await site.logged_in()
    await browser.open("/console/recipients/acme/edit")
    browser.headers = {"host": "10.0.0.7:8080", "sec-fetch-site": None}
    form = dict(browser.page.form("Save").form_values())
    assert (await browser.post("/console/recipients/acme/edit", form)).status == 303


async def test_the_login_needs_the_token_of_its_form(site: Site) -> None:
    browser = site.browser()
    answer = await browser.post("/console/login", {"token": await site.token("owner")})
    assert answer.status == 403
    await browser.open("/console/login")
    fields = dict(browser.page.form("Log in").form_values())
    browser.cookies.clear()
    answer = await browser.post("/console/login", fields | {"token": await site.token("owner")})
    assert (answer.status, COOKIE in browser.cookies) == (403, False)


async def test_tokens_of_forms_differ_on_each_page(site: Site) -> None:
    browser = await site.logged_in()
    tokens = {
        dict((await browser.open("/console")).form("Log out").form_values())["form_token"]
        for _ in range(3)
    }
    assert len(tokens) == 3


async def test_the_network_of_administrators_applies(database_url: str) -> None:
    section = {"allow_from": ["10.0.0.0/8"]}
    async with Gateway.running(settings(database_url, admin=section)) as gateway:
        for address, status in (("10.1.2.3", 200), ("192.0.2.1", 403)):
            browser = Browser(gateway.asgi(), address=address)
            assert (await browser.open("/console/login")).status == status
            browser.cookies[COOKIE] = "x"
            assert (await browser.open("/console")).status == status
