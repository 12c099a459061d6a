"""Warnings of profiles that end soon: whom they are about, and that each is given once."""

from __future__ import annotations

import asyncio
import logging

import pytest
from support.process.clock import Clock

from sluicegate.access.recipients.expiring import ExpiringCredentials, ProfileWarnings, expiring
from sluicegate.access.recipients.imported_tokens import import_token
from sluicegate.access.recipients.service import Recipients
from sluicegate.api import Event, Principal
from sluicegate.database import Store
from sluicegate_testing.secrets import keep_secret

WITHIN = 50


@pytest.fixture
def credentials(store: Store, clock: Clock) -> ExpiringCredentials:
    """Those that end in the next 50 seconds."""
    return ExpiringCredentials(store, WITHIN, now=clock)


async def names(credentials: ExpiringCredentials) -> list[str]:
    return [each.recipient for each in await credentials.find()]


async def test_the_last_credential_of_a_recipient_counts(
    recipients: Recipients, credentials: ExpiringCredentials, clock: Clock
) -> None:
    for name in ("acme", "soon", "later", "revoked"):
        await recipients.create(name, token_lifetime=100)
    await recipients.rotate("soon", token_lifetime=80)
    await recipients.rotate("later", token_lifetime=200, grace=90)
    assert await names(credentials) == []
    await recipients.revoke("revoked")
    clock.advance(60_000)
    assert await names(credentials) == ["soon", "acme"]
    summaries = expiring(await recipients.list(), clock() + WITHIN * 1000)
    assert [each.name for each in summaries] == ["soon", "acme"]
    clock.advance(30_000)
    assert await names(credentials) == ["acme"], "what has ended is not about to end"


async def test_oauth_clients_are_reported_like_tokens(
    recipients: Recipients, credentials: ExpiringCredentials
) -> None:
    issued = await recipients.create("acme", kind="oauth", token_lifetime=40)
    [found] = await credentials.find()
    assert (found.id, found.kind, found.expires_at) == (issued.client_id, "oauth", issued.expires_at)


async def test_one_of_several_processes_reports_a_credential(
    recipients: Recipients, credentials: ExpiringCredentials, store: Store, clock: Clock
) -> None:
    for number in range(20):
        await recipients.create(f"r{number}", token_lifetime=40)
    revision = await store.revision()
    found = await credentials.find()
    others = [ExpiringCredentials(store, WITHIN, now=clock) for _ in range(4)]
    claimed = await asyncio.gather(*(each.claim(found) for each in others))
    reported = [each.recipient for part in claimed for each in part]
    assert sorted(reported) == sorted(each.recipient for each in found)
    assert await credentials.claim(await credentials.find()) == []
    assert await store.revision() == revision, "caches of access stay valid"


async def test_a_new_credential_is_reported_again(
    recipients: Recipients, credentials: ExpiringCredentials
) -> None:
    await recipients.create("acme", token_lifetime=20)
    [first] = await credentials.claim(await credentials.find())
    await recipients.rotate("acme", token_lifetime=40)
    [second] = await credentials.claim(await credentials.find())
    assert first.id != second.id


async def test_an_imported_token_with_a_new_expiry_is_reported_again(
    recipients: Recipients, credentials: ExpiringCredentials, store: Store, clock: Clock
) -> None:
    await recipients.create("acme", token_lifetime=1)
    clock.advance(2_000)
    secret = "imported-" + "0123456789abcdef" * 2
    keep_secret(secret)
    for lifetime in (20, 40):
        async with store.write() as connection:
            await import_token(connection, "acme", secret, lifetime, clock())
        [claimed] = await credentials.claim(await credentials.find())
        assert claimed.expires_at == clock() + lifetime * 1000


async def test_a_check_sets_the_metric_and_reports_once(
    recipients: Recipients,
    credentials: ExpiringCredentials,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured: list[tuple[str, float]] = []
    monkeypatch.setattr(
        "sluicegate.access.recipients.expiring.gauge",
        lambda name, value: measured.append((name, value)),
    )
    issued = await recipients.create("acme", token_lifetime=40)
    events: list[Event] = []
    warnings = ProfileWarnings(credentials, events.append, now=clock)
    with caplog.at_level(logging.WARNING):
        await warnings.check()
        await warnings.check()
    assert measured == [("sluicegate.profiles.ending", 1)] * 2
    [event], [line] = events, caplog.messages
    assert (event.kind, event.at) == ("profile.ending", clock())
    assert isinstance(event.principal, Principal)
    assert event.principal.name == "acme"
    assert event.attributes["credential"] == "bearer"
    assert event.attributes["expires_at"] == issued.expires_at
    assert line.startswith("the last profiles of these recipients end soon: acme (")
    assert issued.secret not in line + repr(event)


async def test_a_line_names_only_some_of_many_recipients(
    recipients: Recipients, credentials: ExpiringCredentials, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(23):
        await recipients.create(f"r{number:02}", token_lifetime=40)
    with caplog.at_level(logging.WARNING):
        await ProfileWarnings(credentials, lambda _: None).check()
    [line] = caplog.messages
    assert "r19 (" in line
    assert line.endswith("and 3 more; rotate them")
