"""Pages of plugins that fail say so, and name the lines of the log to the administrator."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from console.browser import Browser
from support.process.installed import Site, installed_site

from sluicegate.admin.tokens import AdminTokens
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate_testing.secrets import keep_secret

PLUGIN = """
from sluicegate.api import ConsolePage, ConsoleTable, InvalidRequest, hookimpl

@hookimpl
def sluicegate_register_console_pages(services):
    async def show(request):
        if "raises" in request.query:
            raise RuntimeError("private text")
        if "refuses" in request.query:
            raise InvalidRequest("<b>this</b> is wrong", detail="private text")
        return [ConsoleTable("Open requests", ["id", "share"], [(1,)])]

    return [ConsolePage("", "Approvals", show)]
"""


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with installed_site(tmp_path_factory.mktemp("site")) as site:
        site.install("approvals", PLUGIN)
        yield site


@pytest.fixture
async def browser(site: Site, tmp_path: Path) -> AsyncIterator[Browser]:
    """A browser in which an administrator of all shares is logged in."""
    settings = Settings.model_validate(
        {
            "public_url": "https://share.example",
            "database": f"sqlite:///{tmp_path}/gateway.db",
            "signing_key": "k" * 32,
            "admin": {},
            "console": {},
            "plugins": ["approvals"],
        }
    )
    async with Gateway.running(settings) as gateway:
        token = (
            await AdminTokens(gateway.parts.store, token_lifetime=100).create("ada", "viewer")
        ).token
        keep_secret(token)
        browser = Browser(gateway.asgi())
        await browser.open("/console/login")
        await browser.submit("Log in", token=token)
        yield browser


@pytest.mark.parametrize(
    ("query", "logged"),
    [
        ("?raises=1", "private text"),
        ("", "the table 'Open requests' has 2 columns, and a row with 1 cells"),
    ],
)
async def test_an_unexpected_error_is_shown_as_the_request_id_of_the_log(
    browser: Browser, caplog: pytest.LogCaptureFixture, query: str, logged: str
) -> None:
    page = await browser.open(f"/console/plugins/approvals{query}")
    assert page.heading == "Approvals"
    assert re.search(
        r"An internal error occurred; the gateway's log has request_id=[0-9a-f]{32}", page.text
    )
    assert logged not in page.text
    assert logged in caplog.text


async def test_the_message_of_an_error_of_the_api_is_shown(browser: Browser) -> None:
    page = await browser.open("/console/plugins/approvals?refuses=1")
    assert "<b>this</b> is wrong" in page.text.replace("<B>", "<b>")
    assert "private text" not in page.text
