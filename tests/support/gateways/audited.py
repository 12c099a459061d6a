"""A gateway in this process whose audit log is in memory, and requests to all of its protocols."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import urlencode

import orjson
import pyarrow as pa
from deltalake import write_deltalake
from starlette.types import ASGIApp
from support.clients.asgi import Answer, Request, exchange
from support.clients.memory_log import MemoryLog
from support.gateways.vending_files import PLUGIN as VENDING
from support.process.installed import installed_site

from sluicegate.access.activation.links import ActivationLinks
from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.access.recipients.service import Recipients
from sluicegate.admin.identity import Role
from sluicegate.admin.tokens import AdminTokens
from sluicegate.app import Gateway
from sluicegate.audit.records import AuditRecord
from sluicegate.config import Settings
from sluicegate_testing.secrets import keep_secret

POLICY = """
from sluicegate.api import Policy, PolicyType, PluginConfig, Unavailable, hookimpl

class Names(Policy):
    async def allowed(self, principal, action, tables):
        if any(table.name == "undecided" for table in tables):
            raise Unavailable("the policy does not respond")
        denied = {"read": "hidden", "vend": "unvended"}[action]
        return frozenset(table for table in tables if table.name != denied)

@hookimpl
def sluicegate_register_policies():
    return [PolicyType("names", PluginConfig, lambda config, context: Names())]
"""
FILES = 3
T = TypeVar("T")
_TIMEOUT_SECONDS = 60
_LIMITS: Mapping[str, Any] = {"requests_per_minute": 1, "burst": 2, "files_per_day": FILES - 1}
_RECIPIENTS: Mapping[str, Mapping[str, Any]] = {
    "acme": {"shares": ["sales"], "properties": {"country": "DE"}},
    "nobody": {"shares": ["sales"]},
    "far": {"shares": ["sales"], "allow_from": ["10.0.0.0/8"]},
    "limited": {"shares": ["sales"], "limits": _LIMITS},
}


class AuditedSite:
    """The gateway."""

    def __init__(self, gateway: Gateway, log: MemoryLog, lake: str) -> None:
        self._lake = lake
        self.gateway = dataclasses.replace(gateway, audit=log)
        self.log = log
        self.app: ASGIApp = self.gateway.asgi()
        self.tokens: dict[str, str] = {}
        self.credentials: dict[str, IssuedCredential] = {}
        section = gateway.parts.settings.recipients
        self.links = ActivationLinks(gateway.parts.store, section)
        self.recipients = Recipients(gateway.parts.store, token_lifetime=3600, rotation_grace=0)
        self._admins = AdminTokens(gateway.parts.store, token_lifetime=1000)

    async def reset(self, *recipients: str) -> None:
        """Share the lake as at first, issue tokens of recipients, and forget what was recorded."""
        self.log.fails = False
        owner = await self.admin("owner")
        applied = await self.send("POST", "/admin/v1/apply", _shares(self._lake), token=owner)
        assert applied.status == 200, applied.body
        for name in recipients or ("acme",):
            await self.new_token(name)
        self.log.records.clear()

    async def new_token(self, recipient: str, **options: Any) -> IssuedCredential:
        """A new credential of a recipient."""
        issued = await self.recipients.rotate(recipient, **options)
        keep_secret(issued.secret)
        self.tokens[recipient], self.credentials[recipient] = issued.secret, issued
        return issued

    async def admin(self, role: Role, *shares: str) -> str:
        """The token of a new administrator with this role, which is also its name."""
        made = await self._admins.create(role, role, shares=shares or None, replace=True)
        keep_secret(made.token)
        return made.token

    async def send(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Answer:
        """The response to a request."""
        sent = dict(headers)
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        content = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        return await exchange(self.app, Request(method, target, list(sent.items()), content))

    async def recipient(self, name: str, method: str, target: str, body: Any = None) -> Answer:
        """The response to a request of a recipient."""
        return await self.send(method, target, body, token=self.tokens[name])

    async def form(self, target: str, **fields: str) -> Answer:
        """The response to a form."""
        headers = {"content-type": "application/x-www-form-urlencoded"}
        return await self.send("POST", target, urlencode(fields).encode(), headers=headers)


def write_lake(folder: Path) -> str:
    """Write two tables, one of them partitioned; the URL of the lake."""
    for number in range(FILES):
        rows = pa.table({"id": list(range(number + 1))})
        options = {"delta.enableChangeDataFeed": "true"}
        write_deltalake(folder / "orders", rows, mode="append", configuration=options)
    parts = pa.table({"id": [1, 2], "country": ["DE", "FR"]})
    write_deltalake(folder / "parts", parts, partition_by=["country"])
    return f"file://{folder}"


@asynccontextmanager
async def audited_site(folder: Path, settings: Mapping[str, Any]) -> AsyncIterator[AuditedSite]:
    """Serve the lake until the block ends."""
    lake = write_lake(folder / "lake")
    site = folder / "site"
    site.mkdir()
    with installed_site(site) as installed:
        installed.install("vending", VENDING)
        installed.install("names", POLICY)
        configured = Settings.model_validate(
            {
                "public_url": "https://share.example",
                "plugins": ["paths", "vending", "names"],
                "catalogs": {"raw": {"type": "paths"}},
                "storage": [{"type": "vending", "prefix": lake}],
                "policies": [{"type": "names"}],
                "database": f"sqlite:///{folder}/gateway.db",
                "signing_key": "k" * 32,
                "admin": {},
                **settings,
            }
        )
        async with Gateway.running(configured) as gateway:
            made = AuditedSite(gateway, MemoryLog(), lake)
            await made.reset(*_RECIPIENTS)
            yield made


def _shares(lake: str) -> Mapping[str, Any]:
    source = {"catalog": "raw", "table": f"{lake}/orders"}
    open_to_all = {**source, "history": True, "change_feed": True}
    parts = {"catalog": "raw", "table": f"{lake}/parts"}
    tables = {
        "Orders": {**open_to_all, "access_modes": ["url", "dir"]},
        "german": {**parts, "partition_filter": "country = recipient.country"},
        **{name: {**source, "access_modes": ["url", "dir"]} for name in ("hidden", "unvended")},
        "undecided": source,
        "gone": {"catalog": "raw", "table": f"{lake}/gone"},
        "bare": source,
    }
    return {
        "shares": {
            "sales": {"schemas": {"eu": {"tables": tables}}},
            "secret": {"schemas": {"eu": {"tables": {"salaries": source}}}},
        },
        "recipients": _RECIPIENTS,
    }


class SiteInThread:
    """A site on another thread's event loop, for tests that share it."""

    def __init__(self, site: AuditedSite, loop: asyncio.AbstractEventLoop) -> None:
        self.site = site
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work on the gateway's event loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_TIMEOUT_SECONDS)

    def records(self, work: Coroutine[Any, Any, Answer]) -> tuple[Answer, list[AuditRecord]]:
        """The response to a request, and its records."""
        before = len(self.site.log.records)
        answer = self.run(work)
        return answer, self.site.log.records[before:]
