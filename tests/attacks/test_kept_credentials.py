"""A limited administrator that keeps a recipient's credential reads nothing that others grant later."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from admin.conftest import SHARES, Site
from console.browser import Browser
from support.clients.asgi import Request, exchange
from support.servers.migrated import new_sqlite

from sluicegate.access.shares_file.apply import apply_shares_file
from sluicegate.access.shares_file.read import check_shares_file
from sluicegate.api.errors import PermissionDenied
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.config.yaml import JsonDocument
from sluicegate_testing.secrets import keep_secret

MINE = ("returns", "fresh")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A gateway with the recipient `new` of a limited administrator."""
    settings = Settings.model_validate(
        {
            "public_url": "https://share.example",
            "database": new_sqlite(tmp_path / "sluicegate.db"),
            "signing_key": "k" * 32,
            "catalogs": {"raw": {"type": "paths"}},
            "admin": {},
            "console": {},
        }
    )
    async with AsyncExitStack() as stack:
        made = Site(await stack.enter_async_context(Gateway.running(settings)))
        assert (await made.ask("POST", "/apply", SHARES)).status == 200
        created = await made.ask(
            "PUT", "/recipients/new", {"shares": ["returns"]}, role="admin", shares=MINE
        )
        assert created.status == 201, created.body
        yield made


async def issued(site: Site, **sender: Any) -> str:
    """A bearer token of `new`."""
    answer = await site.ask(
        "POST", "/recipients/new/tokens", {"deliver": "profile", "grace": "30d"}, **sender
    )
    assert answer.status == 201, answer.body
    token = str(answer.json["profile"]["bearerToken"])
    keep_secret(token)
    return token


async def reads(site: Site, token: str) -> int:
    """The status of a request with a token."""
    sent = Request("GET", "/delta-sharing/shares", [("authorization", f"Bearer {token}")])
    return (await exchange(site.app, sent)).status


async def _grant(site: Site, share: str) -> None:
    assert (await site.ask("PUT", f"/recipients/new/grants/{share}")).status == 200


async def _put(site: Site, share: str) -> None:
    content = {"shares": ["returns", share]}
    assert (await site.ask("PUT", "/recipients/new", content)).status == 200


async def _apply(site: Site, share: str) -> None:
    content = {"recipients": {"new": {"shares": ["returns", share]}}}
    shown = await site.ask("POST", "/apply?dry_run=true", content)
    assert any("of recipient new end" in line for line in shown.json["text"]) == (share == "sales")
    assert (await site.ask("POST", "/apply", content)).status == 200


async def _import(site: Site, share: str) -> None:
    content = {"recipients": {"new": {"shares": ["returns", share]}}}
    file = check_shares_file(JsonDocument(content), ["raw"])
    await apply_shares_file(site.gateway.parts.store, file)


async def _in_console(site: Site, share: str) -> None:
    browser = await _owner(site)
    page = await browser.open("/console/recipients/new")
    assert "Credentials can end" in page.text
    await browser.submit("Grant", share=share)


async def _share_page(site: Site, share: str) -> None:
    browser = await _owner(site)
    page = await browser.open(f"/console/shares/{share}")
    assert "Credentials of the recipient end" in page.text
    await browser.submit("Grant the share", recipient="new")


WAYS: dict[str, Callable[[Site, str], Awaitable[None]]] = {
    "grant": _grant,
    "recipient": _put,
    "apply": _apply,
    "import": _import,
    "console": _in_console,
    "share page": _share_page,
}


async def _owner(site: Site) -> Browser:
    browser = Browser(site.app)
    await browser.open("/console/login")
    await browser.submit("Log in", token=await site.token("owner"))
    return browser


@pytest.mark.parametrize("way", WAYS)
async def test_a_kept_credential_ends_when_others_grant_a_share(site: Site, way: str) -> None:
    kept = await issued(site, role="admin", shares=MINE)
    trusted = await issued(site)
    link = await site.ask("POST", "/recipients/new/tokens", {}, role="admin", shares=MINE)
    assert (await reads(site, kept), await reads(site, trusted)) == (200, 200)
    await WAYS[way](site, "sales")
    assert (await reads(site, kept), await reads(site, trusted)) == (401, 200)
    target = link.json["activation_url"].removeprefix("https://share.example")
    used = await exchange(site.app, Request("POST", target))
    assert used.status == 410
    state = (await site.ask("GET", "/recipients/new/access")).json
    assert [each["state"] for each in state["credentials"] if each["limited"]] == ["revoked"]


@pytest.mark.parametrize("way", [each for each in WAYS if each != "import"])
async def test_a_share_of_the_issuer_ends_nothing(site: Site, way: str) -> None:
    await site.ask("PUT", "/shares/fresh", {})
    kept = await issued(site, role="admin", shares=MINE)
    await WAYS[way](site, "fresh")
    assert await reads(site, kept) == 200


async def test_a_credential_of_a_link_is_of_the_administrator_that_created_it(site: Site) -> None:
    link = await site.ask("POST", "/recipients/new/tokens", {}, role="admin", shares=MINE)
    target = link.json["activation_url"].removeprefix("https://share.example")
    used = await exchange(site.app, Request("POST", target))
    assert used.status == 200
    token = used.json["bearerToken"]
    keep_secret(token)
    assert await reads(site, token) == 200
    await _grant(site, "sales")
    assert await reads(site, token) == 401


@pytest.mark.parametrize("deliver", ["profile", "activation"])
async def test_no_credential_is_issued_for_what_was_granted_meanwhile(site: Site, deliver: str) -> None:
    """The check is in the transaction that issues the credential."""
    api = site.gateway.admin
    assert api is not None
    access = api.recipient_access
    service = access._links if deliver == "activation" else access._recipients
    await _grant(site, "sales")
    with pytest.raises(PermissionDenied):
        await service.rotate("new", issued_for={"returns"})
    with pytest.raises(PermissionDenied):
        await service.rotate("nobody", issued_for={"returns"})


async def test_the_page_says_so_to_the_administrator_before_it_issues(site: Site) -> None:
    browser = Browser(site.app)
    await browser.open("/console/login")
    await browser.submit("Log in", token=await site.token("admin", *MINE))
    page = await browser.open("/console/recipients/new")
    assert "ends when the recipient is granted a share that you do not manage" in page.text
