"""What browsers and other clients get for an activation link."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sqlalchemy import update
from starlette.applications import Starlette
from support.clients.asgi import Answer, ask
from support.servers.migrated import new_sqlite

from sluicegate.access.activation.endpoint import ActivationEndpoint
from sluicegate.access.activation.links import ActivationLinks
from sluicegate.access.activation.page import SNIPPETS
from sluicegate.access.authentication.oauth.failed_login_throttle import FailedLoginThrottle
from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import Unavailable
from sluicegate.config.sections.recipients import RecipientSettings
from sluicegate.database import Store
from sluicegate.database.tables import recipients as recipients_table
from sluicegate.telemetry.middleware import RequestTelemetry
from sluicegate_testing.secrets import keep_secret

SETTINGS = RecipientSettings()
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
NAME = "acme<script>"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """One kind of database is enough: `test_links.py` asks both."""
    opened = await Store.open(new_sqlite(tmp_path / "sluicegate.db"))
    yield opened
    await opened.aclose()


class Site:
    """The endpoint, and a link to it."""

    def __init__(self, store: Store, token: str) -> None:
        self.delays: list[float] = []
        self.store = store
        self.target = f"/activate?token={token}"
        throttle = FailedLoginThrottle(sleep=self._sleep, capacity=1)
        endpoint = ActivationEndpoint(store, SETTINGS, "https://share.example", throttle=throttle)
        self.app = RequestTelemetry(Starlette(routes=endpoint.routes()))

    async def _sleep(self, seconds: float) -> None:
        self.delays.append(seconds)

    async def get(self, target: str | None = None, method: str = "GET") -> Answer:
        return await ask(self.app, target or self.target, BROWSER, method=method)

    async def post(self) -> Answer:
        return await self.get(method="POST")


@pytest.fixture
async def site(store: Store) -> Site:
    link = await ActivationLinks(store, SETTINGS).create(NAME)
    assert link.url("https://share.example/") == f"https://share.example/activate?token={link.token}"
    keep_secret(link.token)
    return Site(store, link.token)


class Page(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


async def test_the_page_does_not_use_the_link_and_the_button_does(site: Site) -> None:
    for _ in range(2):
        shown = await site.get()
        assert (shown.status, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert (await site.get(method="HEAD")).status == 200
    (form,) = Page(shown.body.decode()).all("form")
    assert form == {"method": "post"}
    profile = await site.post()
    assert profile.headers["content-disposition"] == 'attachment; filename="config.share"'
    assert profile.json["endpoint"] == "https://share.example/delta-sharing"
    keep_secret(profile.json["bearerToken"])
    for again in (await site.get(), await site.post()):
        assert again.status == 410
        assert b"was downloaded with this link at 20" in again.body


async def test_the_snippets_stay_available_after_the_download(site: Site) -> None:
    shown = (await site.get()).body.decode()
    assert {each["id"] for each in Page(shown).all("details")} == {each.slug for each in SNIPPETS}
    assert "https://share.example/delta-sharing/shares/SHARE/all-tables" in shown
    await site.post()
    again = await site.get()
    assert (again.status, Page(again.body.decode()).all("form")) == (410, [])
    assert len(Page(again.body.decode()).all("details")) == len(SNIPPETS)
    unknown = await site.get("/activate?token=x")
    assert Page(unknown.body.decode()).all("details") == []


async def test_pages_have_no_scripts_no_secrets_and_no_foreign_content(site: Site) -> None:
    answers = [
        await site.get(),
        await site.get("/activate?token=x"),
        await site.post(),
        await site.post(),
    ]
    for answer in answers:
        headers = answer.headers
        assert headers["cache-control"] == "private, no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-robots-tag"].startswith("noindex")
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'")
        if not headers["content-type"].startswith("text/html"):
            continue
        text = answer.body.decode()
        assert site.target.partition("=")[2] not in text
        page = Page(text)
        assert {name for name, _ in page.elements}.isdisjoint({"script", "style", "img", "iframe"})
        assert not any(key.startswith("on") or key == "style" for _, at in page.elements for key in at)
        assert page.all("html") == [{"lang": "en"}]
        assert len(page.all("h1")) == len(page.all("title")) == len(page.all("main")) == 1
    assert "acme&lt;script&gt;" in answers[0].body.decode()


async def test_the_style_sheet_is_where_pages_look_for_it(site: Site) -> None:
    (sheet,) = [
        each
        for each in Page((await site.get()).body.decode()).all("link")
        if each["rel"] == "stylesheet"
    ]
    styled = await site.get(f"/{sheet['href']}")
    assert (styled.status, styled.headers["content-type"]) == (200, "text/css; charset=utf-8")


async def test_other_clients_get_json(site: Site) -> None:
    shown = await ask(site.app, site.target, {"accept": "*/*"})
    assert shown.json.keys() == {"recipient", "expirationTime"}
    assert (await ask(site.app, site.target, method="POST")).json["shareCredentialsVersion"] == 1
    allowed = (await ask(site.app, site.target, method="DELETE")).headers["allow"]
    assert set(allowed.split(", ")) == {"GET", "HEAD", "POST"}
    ended = await ask(site.app, site.target, method="POST")
    assert (ended.status, ended.json["errorCode"]) == (410, "ACTIVATION_LINK_ENDED")


async def test_unknown_links_are_delayed_and_then_refused(site: Site) -> None:
    unknown = await site.get("/activate?token=slga_" + "0" * 48)
    assert (unknown.status, len(site.delays)) == (404, 1)
    full = Site(site.store, "x")
    full.app = RequestTelemetry(
        Starlette(
            routes=ActivationEndpoint(
                site.store, SETTINGS, "https://share.example", throttle=FailedLoginThrottle(capacity=0)
            ).routes()
        )
    )
    refused = await full.get("/activate")
    assert (refused.status, "retry-after" in refused.headers) == (429, True)
    assert (await site.get()).status == 200


async def test_a_recipient_downloads_only_from_its_networks(site: Site) -> None:
    for network, status in (("203.0.113.0/24", 403), ("127.0.0.0/8", 200)):
        async with site.store.write() as connection:
            await connection.execute(update(recipients_table).values(allow_from=[network]))
        assert (await site.get()).status == status
        assert (await site.post()).status == status


async def test_a_second_use_is_logged_and_no_line_contains_the_token(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await site.get()
    await site.post()
    await site.get()
    token = site.target.partition("=")[2]
    lines = [str(record.__dict__) + record.getMessage() for record in caplog.records]
    assert [record.levelname for record in caplog.records if "after its use" in record.getMessage()]
    assert not [line for line in lines if token in line]


async def test_a_database_that_is_down_results_in_a_page(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down() -> None:
        raise Unavailable("the database does not respond")

    monkeypatch.setattr(site.store, "read", down)
    answer = await site.get()
    assert (answer.status, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert answer.headers["retry-after"]


async def test_revoking_a_recipient_ends_its_link(site: Site) -> None:
    service = Recipients(site.store, token_lifetime=100, rotation_grace=0)
    await service.revoke(NAME)
    answer = await site.get()
    assert (answer.status, b"withdrawn" in answer.body) == (410, True)
