"""Plugins say who somebody is; the gateway says whether that recipient is let in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from support.installed import AUTHENTICATOR, Site, installed_site

from sluicegate.access.recipients import Recipients
from sluicegate.app import Gateway
from sluicegate.config import Settings
from sluicegate.store import Store

from .conftest import Apply

DECLARED = """
shares: {sales: {}}
recipients:
  acme: {shares: [sales]}
  fenced: {allow_from: [203.0.113.0/24]}
"""


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough here."""
    return f"sqlite:///{tmp_path}/sluicegate.db"


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with installed_site(tmp_path_factory.mktemp("site")) as site:
        site.install("own", AUTHENTICATOR)
        yield site


@pytest.fixture
async def http(
    site: Site, database_url: str, store: Store, apply: Apply
) -> AsyncIterator[httpx.AsyncClient]:
    """A whole gateway with the plugin."""
    await apply(DECLARED)
    section = {"type": "own", "password": "open sesame"}
    settings = Settings.model_validate(
        {"database": database_url, "authentication": {"authenticators": [section]}}
    )
    async with (
        Gateway.running(settings) as gateway,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(gateway.asgi()), base_url="http://gateway"
        ) as client,
    ):
        yield client


async def ask(http: httpx.AsyncClient, authorization: str) -> httpx.Response:
    return await http.get("/delta-sharing/shares", headers={"Authorization": authorization})


@pytest.mark.parametrize("spelling", ["acme", "ACME"])
async def test_a_recipient_that_the_plugin_names_is_let_in(
    http: httpx.AsyncClient, spelling: str
) -> None:
    answer = await ask(http, f"own-1 {spelling}:open sesame")
    assert [share["name"] for share in answer.json()["items"]] == ["sales"]


@pytest.mark.parametrize(
    ("authorization", "status", "says"),
    [
        ("own-1 acme:guess", 401, "the password is wrong"),
        ("own-1 nobody:open sesame", 401, "as no recipient"),
        ("own-1 fenced:open sesame", 403, "may not call from this address"),
        ("own-2 acme:open sesame", 401, "malformed"),
        ("Bearer own-1 acme:open sesame", 401, "malformed"),
    ],
)
async def test_everybody_else_is_refused(
    http: httpx.AsyncClient, authorization: str, status: int, says: str
) -> None:
    answer = await ask(http, authorization)
    assert (answer.status_code, says in answer.json()["message"]) == (status, True)


async def test_a_revoked_recipient_is_refused_whatever_the_plugin_says(
    http: httpx.AsyncClient, recipients: Recipients
) -> None:
    await recipients.revoke("acme")
    answer = await ask(http, "own-1 acme:open sesame")
    assert (answer.status_code, "was revoked" in answer.json()["message"]) == (401, True)
