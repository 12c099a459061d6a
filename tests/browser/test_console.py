"""Administrators use the console in Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser.recipients import COUNTRIES, download_profile, run_pandas_sample
from support.clients.album import Album
from support.clients.visitor import Visitor
from support.gateways.gateway import RunningGateway

from sluicegate_testing.secrets import keep_secret

MOST_PAGES = 100


@pytest.fixture(scope="module")
def token(gateway: RunningGateway) -> str:
    """The token of a new owner."""
    created = gateway.command("admin", "create", "ada", "--role", "owner").split()
    (token,) = [word for word in created if word.startswith("slgadm_")]
    keep_secret(token)
    return token


@pytest.fixture
def owner(gateway: RunningGateway, token: str, new_visitor: Callable[[], Visitor]) -> Visitor:
    """An owner who has logged in, with the keyboard."""
    visitor = new_visitor()
    visitor.open(f"{gateway.address}/console/login")
    visitor.type_into("Token of an administrator", token)
    visitor.page.keyboard.press("Enter")
    visitor.page.wait_for_url(f"{gateway.address}/console")
    return visitor


def kind(url: str) -> tuple[str, tuple[str, ...]]:
    """A page with other values in the query string, or of another numbered record, is the same page."""
    parts = urlsplit(url)
    path = re.sub(r"/\d+$", "/#", parts.path)
    return path, tuple(sorted(each.partition("=")[0] for each in parts.query.split("&")))


class Crawl:
    """Opens each page that links lead to, from one page on."""

    def __init__(self, visitor: Visitor, start: str) -> None:
        self.broken: list[str] = []
        self._visitor = visitor
        self._start = start

    def pages(self) -> Iterator[str]:
        """Open the pages, one after the other. The caller may look around, but not leave a page."""
        waiting, seen = [self._start], {kind(self._start)}
        while waiting:
            url = waiting.pop(0)
            status, content_type = self._visitor.peek(url)
            if status != HTTPStatus.OK:
                self.broken.append(f"{url}: {status}")
            elif content_type.startswith("text/html"):
                self._visitor.open(url)
                yield url
                new = [
                    each for each in sorted(self._visitor.links(self._start)) if kind(each) not in seen
                ]
                seen |= {kind(each) for each in new}
                waiting += new
            assert len(seen) < MOST_PAGES, sorted(seen)


def test_an_owner_shares_a_table_in_steps_and_a_new_recipient_reads_it(
    owner: Visitor, new_visitor: Callable[[], Visitor], tmp_path: Path, album: Album
) -> None:
    barriers = []
    for link in ("Share a table", "raw", "eu", "customers"):
        owner.press_enter_on(owner.page.get_by_role("link", name=link, exact=True))
    owner.wait_for_heading("Share a table: names and options")
    barriers += owner.barriers()
    owner.type_into("Share", "partners")
    owner.type_into("Schema in the share", "crm")
    owner.press_enter_on(owner.page.get_by_role("button", name="Continue to the recipients"))
    owner.wait_for_heading("Share a table: recipients")
    barriers += owner.barriers()
    owner.type_into("Name", "globex")
    owner.press_enter_on(owner.page.get_by_role("button", name="Show the changes"))
    owner.wait_for_heading("Share a table: confirm the changes")
    album.show("console-wizard", owner)
    barriers += owner.barriers()
    owner.press_enter_on(owner.page.get_by_role("button", name="Make these changes"))
    owner.wait_for_heading("The table is shared")
    barriers += owner.barriers()
    assert not barriers, "\n".join(barriers)
    link = owner.page.locator("code.secret").inner_text()
    keep_secret(link.partition("=")[2])
    recipient = new_visitor()
    recipient.open(link)
    download_profile(recipient, tmp_path)
    printed = run_pandas_sample(recipient, tmp_path)
    assert "partners.crm.customers" in printed
    assert all(country in printed for country in COUNTRIES)


def test_no_page_of_the_console_has_barriers(gateway: RunningGateway, owner: Visitor) -> None:
    crawl = Crawl(owner, f"{gateway.address}/console")
    headings, barriers = [], []
    for url in crawl.pages():
        headings.append(owner.heading)
        barriers += owner.barriers()
        assert owner.page.title().startswith(headings[-1]), url
    assert not barriers, "\n".join(barriers)
    assert not crawl.broken, "\n".join(crawl.broken)
    assert {"Overview", "Recipients", "acme"} <= set(headings)


def test_pages_without_a_session_have_no_barriers(
    gateway: RunningGateway, new_visitor: Callable[[], Visitor]
) -> None:
    stranger = new_visitor()
    stranger.open(f"{gateway.address}/console")
    assert stranger.heading == "Log in"
    assert stranger.barriers() == []
    stranger.page.get_by_label("Token of an administrator").fill("slgadm_wrong")
    stranger.page.get_by_role("button", name="Log in").click()
    stranger.page.get_by_role("alert").wait_for()
    assert stranger.barriers() == []


def test_errors_have_no_barriers(gateway: RunningGateway, owner: Visitor) -> None:
    owner.open(f"{gateway.address}/console/recipients/unknown", status=404)
    assert owner.barriers() == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("console-overview", ""),
        ("console-recipient", "/recipients/acme"),
        ("console-table", "/shares/sales/schemas/eu/table/orders"),
        ("console-usage", "/usage"),
    ],
)
def test_a_page_is_what_the_documentation_shows(
    gateway: RunningGateway, owner: Visitor, album: Album, name: str, path: str
) -> None:
    owner.open(f"{gateway.address}/console{path}")
    album.show(name, owner)
