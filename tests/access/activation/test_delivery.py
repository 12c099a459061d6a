"""A link is used when its profile has left the gateway, and can be used again if it has not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from starlette.applications import Starlette
from starlette.types import ASGIApp
from support.clients.asgi import Answer, ask
from support.clients.memory_log import MemoryLog
from support.process.clock import Clock
from support.servers.migrated import new_sqlite

from sluicegate._util.lazy import Lazy
from sluicegate.access.activation.endpoint import ActivationEndpoint
from sluicegate.access.activation.link import LinkEnded, LinkInUse, NewLink
from sluicegate.access.activation.links import ActivationLinks
from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.authentication.bearer_tokens import BearerTokens
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import Unauthenticated, Unavailable
from sluicegate.audit.actions import RequestActions
from sluicegate.audit.middleware import AuditTrail
from sluicegate.audit.records import AuditRecord
from sluicegate.config.sections.recipients import RecipientSettings
from sluicegate.database import Store
from sluicegate.database.tables import tokens
from sluicegate.http.responses import error_response
from sluicegate.telemetry.middleware import RequestTelemetry
from sluicegate_testing.fakes import authentication_request
from sluicegate_testing.secrets import keep_secret

_SETTINGS = RecipientSettings(token_lifetime=10_000, rotation_grace=0, activation_lifetime=1000)
_DELIVERY = 60_000
_URL = "https://share.example"


class _FailingLog(MemoryLog):
    """Fails at the record with this number, the first one being 1."""

    def __init__(self) -> None:
        super().__init__()
        self.fails_at = 0
        self._number = 0

    async def write(self, record: AuditRecord) -> None:
        self._number += 1
        if self._number == self.fails_at:
            raise Unavailable("the audit log can't be written; try again later")
        await super().write(record)


class _Site:
    """The endpoint with its audit log, and a link."""

    def __init__(self, store: Store, clock: Clock, link: NewLink) -> None:
        self.clock = clock
        self.log = _FailingLog()
        self.links = ActivationLinks(store, _SETTINGS, now=clock)
        self.token = link.token
        self._authentication = Authentication([BearerTokens(Grants(store, max_age=0), now=clock)])
        routes = ActivationEndpoint(store, _SETTINGS, _URL, now=clock).routes()
        actions = RequestActions(routes, Lazy(_no_operations))
        served: ASGIApp = Starlette(routes=routes)
        served = AuditTrail(served, self.log, actions, lambda _, error: error_response(error))
        self.app: ASGIApp = RequestTelemetry(served)

    async def post(self) -> Answer:
        return await ask(self.app, f"/activate?token={self.token}", method="POST")

    async def opens(self, secret: str) -> bool:
        """Whether a token authenticates."""
        try:
            await self._authentication.authenticate(authentication_request(f"Bearer {secret}"))
        except Unauthenticated:
            return False
        return True


def _no_operations() -> dict[tuple[str, str], str]:
    return {}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """One kind of database is enough: `test_links.py` uses both."""
    opened = await Store.open(new_sqlite(tmp_path / "sluicegate.db"))
    yield opened
    await opened.aclose()


@pytest.fixture
async def site(store: Store, clock: Clock) -> _Site:
    """A link for a recipient that has a token already."""
    link = await ActivationLinks(store, _SETTINGS, now=clock).create("acme")
    keep_secret(link.token)
    return _Site(store, clock, link)


def _secret(answer: Answer) -> str:
    assert answer.status == 200
    secret: str = answer.json["bearerToken"]
    keep_secret(secret)
    return secret


async def _credentials(store: Store) -> list[Any]:
    async with store.read() as connection:
        return [row.revoked_at for row in await connection.execute(select(tokens))]


async def test_a_link_whose_first_record_fails_issues_nothing(site: _Site, store: Store) -> None:
    site.log.fails_at = 1
    assert (await site.post()).status == 503
    assert await _credentials(store) == []
    assert await site.opens(_secret(await site.post()))


async def test_a_link_whose_second_record_fails_can_be_used_at_once(site: _Site, store: Store) -> None:
    site.log.fails_at = 2
    refused = await site.post()
    assert (refused.status, b"bearerToken" in refused.body) == (503, False)
    assert (await site.links.find(site.token)).state == "pending"
    (revoked_at,) = await _credentials(store)
    assert revoked_at is not None  # nobody has it
    assert await site.opens(_secret(await site.post()))
    again = await site.post()
    assert (again.status, "was downloaded with this link" in again.json["message"]) == (410, True)


async def test_a_link_is_given_back_after_a_crash_between_its_credential_and_its_response(
    site: _Site,
) -> None:
    lost = await site.links.use(site.token)
    keep_secret(lost.secret)
    refused = await site.post()
    assert refused.status == 503
    assert "try again in a minute" in refused.json["message"]
    site.clock.advance(_DELIVERY)
    secret = _secret(await site.post())
    assert await site.opens(secret)
    assert not await site.opens(lost.secret)
    assert site.log.records[-1].changes[0].startswith(f"- credential {lost.id} of recipient acme")
    assert (await site.post()).status == 410


async def test_a_link_is_given_back_if_the_database_fails_with_its_second_record(
    site: _Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_: object, __: object) -> None:
        raise Unavailable("the database does not respond")

    site.log.fails_at = 2
    with monkeypatch.context() as patched:
        patched.setattr(ActivationLinks, "take_back", fails)
        assert (await site.post()).status == 503
    site.clock.advance(_DELIVERY)
    assert await site.opens(_secret(await site.post()))


async def test_a_profile_is_delivered_although_its_delivery_cannot_be_noted(
    site: _Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_: object, __: object) -> None:
        raise Unavailable("the database does not respond")

    with monkeypatch.context() as patched:
        patched.setattr(ActivationLinks, "delivered", fails)
        first = _secret(await site.post())
    assert "can be used again" in caplog.text
    site.clock.advance(_DELIVERY)
    second = _secret(await site.post())
    assert (await site.opens(first), await site.opens(second)) == (False, True)


async def test_a_link_that_was_given_back_ends_like_any_other(site: _Site, store: Store) -> None:
    recipients = Recipients(store, token_lifetime=100, rotation_grace=0, now=site.clock)
    lost = await site.links.use(site.token)
    keep_secret(lost.secret)
    with pytest.raises(LinkInUse):
        await site.links.use(site.token)
    newer = await site.links.rotate("acme")
    site.clock.advance(_DELIVERY)
    with pytest.raises(LinkEnded, match="withdrawn"):
        await site.links.use(site.token)
    await site.links.use(newer.token)
    await recipients.revoke("acme")
    site.clock.advance(_DELIVERY)
    with pytest.raises(LinkEnded, match="withdrawn"):
        await site.links.use(newer.token)
