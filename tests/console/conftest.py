"""A gateway with the console in this process, and browsers that use it without JavaScript."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from console.browser import Browser

from sluicegate.admin.identity import Role
from sluicegate.admin.tokens import AdminTokens
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.testing.secrets import keep_secret

SHARES: Mapping[str, Any] = {
    "shares": {
        "sales": {
            "comment": "Orders",
            "schemas": {
                "eu": {"tables": {"orders": {"catalog": "raw", "table": "file:///srv/orders"}}}
            },
        },
        "returns": {"schemas": {"eu": {}}},
    },
    "recipients": {
        "acme": {"shares": ["sales"], "token_lifetime": "30d"},
        "both": {"shares": ["sales", "returns"]},
        "nobody": {},
    },
}


class Site:
    """The gateway, tokens of administrators, and their browsers."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.app = gateway.asgi()
        self.tokens = AdminTokens(gateway.store, token_lifetime=1000)
        self._known: dict[tuple[Role, tuple[str, ...]], str] = {}

    async def token(self, role: Role, *shares: str) -> str:
        """The token of an administrator with this role."""
        known = self._known.get((role, shares))
        if known is None:
            name = "-".join((role, *shares))
            known = (await self.tokens.create(name, role, shares=shares or None)).token
            keep_secret(known)
            self._known[role, shares] = known
        return known

    def browser(self, address: str = "192.0.2.1") -> Browser:
        """A new browser."""
        return Browser(self.app, address=address)

    async def logged_in(self, role: Role = "owner", *shares: str) -> Browser:
        """The browser of an administrator that has logged in."""
        browser = self.browser()
        await browser.open("/console/login")
        page = await browser.submit("Log in", token=await self.token(role, *shares))
        assert page.heading == "Overview", page.text
        return browser

    async def apply(self, content: Mapping[str, Any]) -> None:
        """Apply a shares file."""
        admin = self.gateway.admin
        assert admin is not None
        owner = await admin.tokens.authenticate(await self.token("owner"))
        assert owner is not None
        await admin.editor.apply(owner, content, prune=False, dry_run=False)


def settings(database_url: str, **changed: Any) -> Settings:
    """The configuration of a gateway with a console."""
    return Settings.model_validate(
        {
            "public_url": "https://share.example",
            "database": database_url,
            "signing_key": "k" * 32,
            "catalogs": {"raw": {"type": "paths"}},
            "admin": {},
            "console": {},
        }
        | changed
    )


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough for pages. Sessions are tested on both."""
    return f"sqlite:///{tmp_path}/sluicegate.db"


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[Site]:
    """A gateway with some shares."""
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(Gateway.running(settings(database_url)))
        made = Site(gateway)
        await made.apply(SHARES)
        yield made
