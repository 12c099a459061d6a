"""Two gateways that differ only in what a limited administrator does not manage."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from shutil import copy
from typing import Any

from admin.conftest import Site
from admin.test_roles import BODIES, NAMES, QUERIES, operations
from console.browser import Browser
from support.clients.asgi import Answer
from support.servers.migrated import new_sqlite

from sluicegate.admin.conditions import entity_tag
from sluicegate.admin.identity import Admin
from sluicegate.app import Gateway
from sluicegate.config import Settings

MANAGED = ("returns", "fresh")
"""The shares of the limited administrator; the second one does not exist."""
OWN: Mapping[str, Any] = {
    "shares": {
        "returns": {
            "schemas": {
                "eu": {"tables": {"orders": {"catalog": "raw", "table": "file:///srv/returns"}}}
            }
        }
    },
    "recipients": {"mine": {"shares": ["returns"], "comment": "known"}},
}
PRIVATE = ("sales", "payroll", "acme", "zeta", "nobody", "zzsecret")
"""Names and texts of the others; the last one is in all of their texts."""
_ORDERS = {"catalog": "raw", "table": "file:///srv/zzsecret"}
_OTHERS: tuple[Mapping[str, Any], Mapping[str, Any]] = (
    {
        "shares": {"sales": {"schemas": {"eu": {"tables": {"orders": _ORDERS}}}}},
        "recipients": {
            "both": {"shares": ["returns", "sales"]},
            "acme": {"shares": ["sales"], "comment": "zzsecret"},
            "nobody": {},
        },
    },
    {
        "shares": {"payroll": {"comment": "zzsecret"}, "third": {}},
        "recipients": {
            "both": {
                "shares": ["returns", "payroll", "third"],
                "comment": "zzsecret",
                "allow_from": ["192.0.2.0/24"],
                "properties": {"country": "zzsecret"},
                "limits": {"files_per_day": 7},
            },
            "zeta": {"shares": ["payroll"]},
            "nobody": {"comment": "zzsecret"},
        },
    },
)
_SHARES = ("returns", "fresh", "sales", "payroll", "absent")
_RECIPIENTS = ("mine", "both", "acme", "zeta", "nobody", "absent")
ONE_WORLD = ("acme", "zeta")
"""Recipients that exist in only one of the worlds. That a name is taken is seen by who creates it."""
_HEADERS: tuple[Mapping[str, str], ...] = (
    {},
    {"If-Match": "*"},
    {"If-None-Match": "*"},
    {"If-Match": entity_tag({"name": "both", "shares": ["returns", "sales"]})},
)
_CREATED = {"shares": ["returns"]}
_MORE_BODIES: Mapping[str, tuple[Any, ...]] = {
    "putRecipient": ({}, _CREATED, {"shares": ["returns", "sales"]}, {"coment": 1}),
    "applySharesFile": (
        {"shares": {"returns": {}}},
        {"shares": {"fresh": {}}, "recipients": {"new": {"shares": ["fresh"]}}},
        {"recipients": {"both": {"shares": ["returns"]}}},
        {"recipients": {"absent": {"shares": ["sale"]}}},
        {"recipients": {"absent": {"shares": ["return"]}}},
    ),
}
_MORE_QUERIES: Mapping[str, tuple[str, ...]] = {
    "applySharesFile": ("", "?dry_run=true", "?prune=true"),
    "exportSharesFile": ("?recipients=true&ids=true", "?share=returns&recipients=true"),
    "listLedger": ("", "?share=returns", "?share=sales"),
    "getUsage": ("", "?by=recipient", "?recipient=acme", "?share=sales"),
    "explainAccess": tuple(
        f"?table={share}.eu.orders&offline=true" for share in ("returns", "sales", "payroll")
    ),
    "listAudit": ("", "?recipient=acme", "?share=returns"),
}
_VOLATILE = (
    (re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), b"ID"),
    (re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z"), b"TIME"),
    (re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), b"TIME"),
    (re.compile(rb"sl(g|ga|gc)_[\w-]{20,}"), b"SECRET"),
    # The records of all shares have one sequence.
    (re.compile(rb'"seq":\d+|"mac":"\w+"|"request_id":"[\w-]+"|/audit/\d+/\d+'), b"RECORD"),
    (re.compile(rb'value="[\w.=-]{20,}"'), b"TOKEN"),
)


@dataclass(frozen=True)
class Asked:
    """A request of the limited administrator."""

    operation: str
    method: str
    path: str
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def can_take_a_name(self) -> bool:
        """Whether it succeeds only if a recipient does not exist that exists in one world."""
        named = self.path.partition("?")[0].rpartition("/")[2] in ONE_WORLD
        return self.operation == "putRecipient" and named and self.body == _CREATED


def requests(site: Site) -> Iterator[Asked]:
    """Requests of all routes, with names of both worlds."""
    for route in operations(site):
        queries = _MORE_QUERIES.get(route.operation, (QUERIES.get(route.operation, ""),))
        bodies = _MORE_BODIES.get(route.operation, (BODIES.get(route.operation),))
        headers = _HEADERS if route.method in ("PUT", "DELETE") else ({},)
        for share, recipient in product(_SHARES, _RECIPIENTS):
            if (share, recipient) != ("returns", "mine"):
                if "{share}" not in route.path and share != "returns":
                    continue
                if "{recipient}" not in route.path and recipient != "mine":
                    continue
            path = route.path.format_map(NAMES | {"share": share, "recipient": recipient})
            for query, body, sent in product(queries, bodies, headers):
                yield Asked(route.operation, route.method, path + query, body, tuple(sent.items()))


class World:
    """One of the gateways."""

    def __init__(self, gateway: Gateway, others: Mapping[str, Any]) -> None:
        self.site = Site(gateway)
        self.browser = Browser(self.site.app)
        self._content = {key: {**OWN[key], **others[key]} for key in OWN}

    async def restore(self) -> None:
        """Undo what was changed."""
        applied = await self.site.ask("POST", "/apply?prune=true", self._content)
        assert applied.status == 200, applied.body

    async def ask(self, asked: Asked) -> Answer:
        """The response to the limited administrator."""
        return await self.site.ask(
            asked.method,
            asked.path,
            asked.body,
            role="admin",
            shares=MANAGED,
            headers=dict(asked.headers),
        )

    async def log_in(self) -> None:
        """Log the limited administrator in to the console."""
        await self.browser.open("/console/login")
        page = await self.browser.submit("Log in", token=await self.site.token("admin", *MANAGED))
        assert page.heading == "Overview", page.text


@asynccontextmanager
async def two_worlds(folder: Path) -> AsyncIterator[tuple[World, World]]:
    """Two gateways with the same shares and recipients of the administrator, and others of nobody else.

    In the second one, a recipient with a grant of the administrator's share is revoked, and others have
    credentials.
    """
    file = folder / "first.db"
    new_sqlite(file)
    async with Gateway.running(_settings(file)) as gateway:
        assert gateway.admin is not None
        editor = gateway.admin.editor
        owner = Admin("preparing", "owner", None, "token", 0)
        await editor.apply(owner, editor.check_file(OWN), prune=False, dry_run=False)
    copy(file, folder / "second.db")  # with the same ids
    async with AsyncExitStack() as stack:
        worlds = [
            World(await stack.enter_async_context(Gateway.running(_settings(folder / name))), others)
            for name, others in zip(("first.db", "second.db"), _OTHERS, strict=True)
        ]
        for world in worlds:
            await world.restore()
        second = worlds[1].site
        for recipient in ("zeta", "both"):
            path = f"/recipients/{recipient}/tokens"
            assert (await second.ask("POST", path, {"deliver": "profile"})).status == 201
        assert (await second.ask("POST", "/recipients/both/revoke")).status == 200
        yield worlds[0], worlds[1]


def comparable(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    """What an administrator sees of a response, without ids, times and secrets."""
    body = answer.body
    for pattern, shown in _VOLATILE:
        body = pattern.sub(shown, body)
    volatile = ("x-request-id", "date", "set-cookie", "location", "content-length", "server-timing")
    headers = {name: value for name, value in answer.headers.items() if name not in volatile}
    return answer.status, headers, body


def _settings(file: Path) -> Settings:
    return Settings.model_validate(
        {
            "public_url": "https://share.example",
            "database": f"sqlite:///{file}",
            "signing_key": "k" * 32,
            "catalogs": {"raw": {"type": "paths"}},
            "admin": {},
            "console": {},
        }
    )
