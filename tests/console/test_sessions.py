"""Who is logged in, and for how long."""

from __future__ import annotations

from console.conftest import Site
from support.servers.databases import database_url, postgres

__all__ = ["database_url", "postgres"]


async def test_an_administrator_logs_in_and_out(site: Site) -> None:
    browser = await site.logged_in("viewer")
    assert "viewer" in browser.page.source
    stolen = dict(browser.cookies)
    page = await browser.submit("Log out")
    assert (page.heading, browser.cookies.keys() & stolen.keys()) == ("Log in", set())
    browser.cookies = stolen
    assert (await browser.open("/console")).heading == "Log in"
