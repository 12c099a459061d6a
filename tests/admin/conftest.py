"""A gateway with the Admin API in this process, on each kind of database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.types import ASGIApp
from support.clients.asgi import Answer, Request, exchange
from support.servers.databases import database_url, store

from sluicegate.admin.identity import Role
from sluicegate.admin.tokens import AdminTokens
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate_testing.secrets import keep_secret, keep_written

__all__ = ["database_url", "store"]

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
    """The gateway, and tokens of administrators."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.app: ASGIApp = gateway.asgi()
        self.tokens = AdminTokens(gateway.parts.store, token_lifetime=1000)
        self.document: dict[str, Any] | None = None  # of OpenAPI, once it was requested
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

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        role: Role | None = "owner",
        shares: tuple[str, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The response to an administrator of a role, or to nobody."""
        sent = dict(headers or {})
        if role is not None:
            sent["Authorization"] = f"Bearer {await self.token(role, *shares)}"
        content = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        target = f"/admin/v1{path}"
        answer = await exchange(self.app, Request(method, target, list(sent.items()), content))
        if answer.status >= 400:
            keep_written("errors", answer.body)
        return answer


@pytest.fixture
async def site(database_url: str, tmp_path: Path) -> AsyncIterator[Site]:
    """A gateway with some shares."""
    async with AsyncExitStack() as stack:
        settings = Settings.model_validate(
            {
                "public_url": "https://share.example",
                "database": database_url,
                "signing_key": "k" * 32,
                "catalogs": {"raw": {"type": "paths"}},
                "admin": {},
            }
        )
        gateway = await stack.enter_async_context(Gateway.running(settings))
        made = Site(gateway)
        applied = await made.ask("POST", "/apply", SHARES)
        assert applied.status == 200, applied.body
        yield made


async def together(*requests: Any) -> list[Answer]:
    """The responses to concurrent requests."""
    return list(await asyncio.gather(*requests))
