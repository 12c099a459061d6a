"""A gateway with the console in this process, and browsers that use it without JavaScript."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from console.browser import Browser
from support.servers.migrated import new_sqlite
from support.tables.deltalog import DeltaFolder, add, metadata, protocol

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.identity import Admin, Role
from sluicegate.admin.tokens import AdminTokens
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate_testing.secrets import keep_secret

HOSTILE = "<script>alert('x')</script>\u202egnirts\u0007\"' onload=x"
"""A text that runs or hides something, if a page does not escape it."""


def shares(lake: Path) -> Mapping[str, Any]:
    """A shares file with tables in a folder."""
    orders = {"catalog": "raw", "table": f"file://{lake}/orders", "comment": "c" * 10_000}
    filtered = {**orders, "partition_filter": "country = recipient.country"}
    return {
        "shares": {
            "sales": {
                "comment": "Orders",
                "schemas": {
                    "eu": {
                        "tables": {
                            "orders": orders,
                            "filtered": filtered,
                            "gone": {"catalog": "raw", "table": f"file://{lake}/gone"},
                        },
                        "volumes": {"files": {"catalog": "raw", "volume": f"file://{lake}/files"}},
                    }
                },
            },
            "returns": {"schemas": {"eu": {}}},
            "<b>hostile\u202e\u2028": {
                "comment": HOSTILE,
                "properties": {HOSTILE: HOSTILE},
                "schemas": {
                    "<i>eu\u200b": {
                        "comment": HOSTILE,
                        "tables": {"<u>t\u202e": {**orders, "comment": HOSTILE}},
                    }
                },
            },
        },
        "recipients": {
            "acme": {
                "shares": ["sales", "<b>hostile\u202e\u2028"],
                "token_lifetime": "30d",
                "properties": {"country": "DE"},
            },
            "both": {"shares": ["sales", "returns"]},
            "nobody": {},
            "<s>evil\u202e": {
                "shares": ["<b>hostile\u202e\u2028"],
                "comment": HOSTILE,
                "properties": {HOSTILE: HOSTILE},
            },
        },
    }


def write_lake(lake: Path) -> None:
    """Write the table `orders`, in two partitions, with hostile names and comments."""
    columns = [
        {"name": "id", "type": "long", "nullable": False, "metadata": {"comment": HOSTILE}},
        {"name": "country", "type": "string", "nullable": True, "metadata": {}},
        {
            "name": "<em>lines\u202e",
            "type": {
                "type": "array",
                "elementType": {
                    "type": "struct",
                    "fields": [
                        {"name": "sku", "type": "string", "nullable": True, "metadata": {}},
                        {
                            "name": "tags",
                            "type": {
                                "type": "map",
                                "keyType": "string",
                                "valueType": "integer",
                                "valueContainsNull": True,
                            },
                            "nullable": True,
                            "metadata": {},
                        },
                    ],
                },
                "containsNull": True,
            },
            "nullable": True,
            "metadata": {},
        },
    ]
    action = metadata("t", ["country"])
    action["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": columns})
    files = [add(f"{each}.parquet", partitionValues={"country": each}) for each in ("DE", "FR", "IT")]
    DeltaFolder(lake / "orders").commit(0, protocol(), action, *files)
    (lake / "files").mkdir()


class Site:
    """The gateway, tokens of administrators, and their browsers."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.app = gateway.asgi()
        self.tokens = AdminTokens(gateway.parts.store, token_lifetime=1000)
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

    @property
    def admin(self) -> AdminApi:
        """The services of the Admin API."""
        assert self.gateway.admin is not None
        return self.gateway.admin

    async def owner(self) -> Admin:
        """An owner."""
        found = await self.tokens.authenticate(await self.token("owner"))
        assert found is not None
        return found

    async def apply(self, content: Mapping[str, Any]) -> None:
        """Apply a shares file."""
        editor = self.admin.editor
        file = editor.check_file(content)
        await editor.apply(await self.owner(), file, prune=False, dry_run=False)


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
    return new_sqlite(tmp_path / "sluicegate.db")


@pytest.fixture
async def site(database_url: str, tmp_path: Path) -> AsyncIterator[Site]:
    """A gateway with some shares."""
    lake = tmp_path / "lake"
    write_lake(lake)
    storage = [{"type": "file", "prefix": f"file://{lake}/"}]
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(
            Gateway.running(settings(database_url, storage=storage))
        )
        made = Site(gateway)
        await made.apply(shares(lake))
        yield made
