"""Activation links: each issues one credential, and none after it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy import func, select, update
from support.process.clock import Clock

from sluicegate.access.activation.link import LinkEnded, LinkInUse, NewLink
from sluicegate.access.activation.links import ActivationLinks
from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.authentication.bearer_tokens import BearerTokens
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.credentials import IssuedCredential
from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import InvalidRequest, NotFound, Unauthenticated
from sluicegate.config.sections.recipients import RecipientSettings
from sluicegate.database import Store
from sluicegate.database.admin_tables import activation_links
from sluicegate.database.tables import recipients as recipients_table
from sluicegate.database.tables import tokens
from sluicegate_testing.fakes import authentication_request as asking

SECOND = 1000
SETTINGS = RecipientSettings(token_lifetime=1000, rotation_grace=10, activation_lifetime=100)


@pytest.fixture
def links(store: Store, clock: Clock) -> ActivationLinks:
    """Links that live for 100 seconds, for tokens of 1000."""
    return ActivationLinks(store, SETTINGS, now=clock)


async def _authenticates(store: Store, clock: Clock, issued: IssuedCredential) -> bool:
    authentication = Authentication([BearerTokens(Grants(store, max_age=0), now=clock)])
    try:
        await authentication.authenticate(asking(f"Bearer {issued.secret}"))
    except Unauthenticated:
        return False
    return True


async def _credentials(store: Store) -> int:
    async with store.read() as connection:
        count: int = (await connection.execute(select(func.count()).select_from(tokens))).scalar_one()
        return count


async def test_a_credential_is_issued_when_the_link_is_used(
    store: Store, links: ActivationLinks, clock: Clock
) -> None:
    link = await links.create("acme", token_lifetime=7)
    assert link.token not in repr(link)
    assert link.expires_at == clock() + 100 * SECOND
    assert await _credentials(store) == 0
    clock.advance(5 * SECOND)
    issued = await links.use(link.token)
    assert (issued.recipient, issued.expires_at) == ("acme", clock() + 7 * SECOND)
    assert await _authenticates(store, clock, issued)


async def test_the_database_does_not_contain_the_token(store: Store, links: ActivationLinks) -> None:
    link = await links.create("acme")
    async with store.read() as connection:
        (row,) = (await connection.execute(select(activation_links))).all()
    assert link.token.encode() not in b"".join(str(value).encode() for value in row)


async def test_an_oauth_client_can_be_issued(links: ActivationLinks) -> None:
    issued = await links.use((await links.create("acme", kind="oauth")).token)
    assert issued.client_id is not None


async def test_reading_a_link_does_not_use_it(links: ActivationLinks, store: Store) -> None:
    link = await links.create("acme")
    for _ in range(2):
        found = await links.find(link.token)
        assert (found.recipient.name, found.state) == ("acme", "pending")
    revision = await store.revision()
    await links.find(link.token)
    assert (await store.revision(), await _credentials(store)) == (revision, 0)


async def test_of_concurrent_uses_exactly_one_succeeds(links: ActivationLinks, store: Store) -> None:
    link = await links.create("acme")
    outcomes = await asyncio.gather(*(links.use(link.token) for _ in range(8)), return_exceptions=True)
    assert [type(each) for each in outcomes].count(IssuedCredential) == 1
    assert [type(each) for each in outcomes].count(LinkInUse) == 7
    assert await _credentials(store) == 1


async def _used(links: ActivationLinks, _: Recipients, __: Clock, link: NewLink) -> None:
    await links.delivered(await links.use(link.token))


async def _expired(_: ActivationLinks, __: Recipients, clock: Clock, link: NewLink) -> None:
    clock.now = link.expires_at


async def _revoked(_: ActivationLinks, recipients: Recipients, __: Clock, link: NewLink) -> None:
    await recipients.revoke(link.recipient)


async def _restored(_: ActivationLinks, recipients: Recipients, __: Clock, link: NewLink) -> None:
    await recipients.revoke(link.recipient)
    await recipients.restore(link.recipient)


async def _replaced(links: ActivationLinks, _: Recipients, __: Clock, link: NewLink) -> None:
    await links.rotate(link.recipient)


@pytest.mark.parametrize(
    ("end", "state", "message"),
    [
        (_used, "used", "was downloaded with this link at 2027-01-15T08:00:00"),
        (_expired, "expired", "expired at 2027-01-15T08:01:40"),
        (_revoked, "withdrawn", "withdrawn or replaced"),
        (_restored, "withdrawn", "withdrawn or replaced"),
        (_replaced, "withdrawn", "withdrawn or replaced"),
    ],
)
async def test_an_ended_link_issues_nothing_and_says_why(
    links: ActivationLinks,
    recipients: Recipients,
    store: Store,
    clock: Clock,
    end: Callable[[ActivationLinks, Recipients, Clock, NewLink], Awaitable[None]],
    state: str,
    message: str,
) -> None:
    link = await links.create("acme")
    await end(links, recipients, clock, link)
    issued = await _credentials(store)
    found = await links.find(link.token)
    assert found.state == state
    for attempt in (found.check_pending, None):
        with pytest.raises(LinkEnded, match=message) as caught:
            attempt() if attempt else await links.use(link.token)
        assert link.token not in str(caught.value)
    assert await _credentials(store) == issued


async def test_a_link_of_a_recipient_that_an_earlier_version_revoked_is_withdrawn(
    links: ActivationLinks, store: Store
) -> None:
    link = await links.create("acme")
    async with store.write() as connection:
        await connection.execute(update(recipients_table).values(revoked_at=1))
    with pytest.raises(LinkEnded, match="withdrawn"):
        await links.use(link.token)


async def test_old_credentials_are_valid_until_the_link_is_used_and_then_for_the_grace_period(
    links: ActivationLinks, recipients: Recipients, store: Store, clock: Clock
) -> None:
    old = await recipients.create("acme")
    link = await links.rotate("acme", grace=3)
    clock.advance(50 * SECOND)
    assert await _authenticates(store, clock, old)
    new = await links.use(link.token)
    clock.advance(2 * SECOND)
    assert await _authenticates(store, clock, old)
    clock.advance(1 * SECOND)
    assert not await _authenticates(store, clock, old)
    assert await _authenticates(store, clock, new)


async def test_a_link_for_a_revoked_recipient_restores_its_access(
    links: ActivationLinks, recipients: Recipients, store: Store, clock: Clock
) -> None:
    old = await recipients.create("acme")
    await recipients.revoke("acme")
    issued = await links.use((await links.rotate("acme")).token)
    assert await _authenticates(store, clock, issued)
    assert not await _authenticates(store, clock, old)


async def test_the_lifetime_of_the_recipient_applies(
    links: ActivationLinks, recipients: Recipients, clock: Clock
) -> None:
    await recipients.create("acme", token_lifetime=44)
    issued = await links.use((await links.rotate("acme")).token)
    assert issued.expires_at == clock() + 44 * SECOND
    issued = await links.use((await links.rotate("acme", token_lifetime=5)).token)
    assert issued.expires_at == clock() + 5 * SECOND


async def test_links_without_a_recipient_are_refused(links: ActivationLinks) -> None:
    await links.create("acme")
    with pytest.raises(InvalidRequest, match="already"):
        await links.create("ACME")
    with pytest.raises(InvalidRequest, match="lifetime"):
        await links.rotate("acme", token_lifetime=0)
    with pytest.raises(NotFound, match="did you mean 'acme'"):
        await links.rotate("acne")


@pytest.mark.parametrize("token", ["", "slga_", "slga_" + "0" * 48, "slga_" + "0" * 9_999, "\x00", "é"])
async def test_an_unknown_token_is_not_found(links: ActivationLinks, token: str) -> None:
    await links.create("acme")
    with pytest.raises(NotFound, match="no such activation link"):
        await links.find(token)
    with pytest.raises(NotFound, match="no such activation link"):
        await links.use(token)


async def test_old_links_are_deleted_with_a_new_one(
    links: ActivationLinks, store: Store, clock: Clock
) -> None:
    await links.use((await links.create("acme")).token)
    for days, left in ((80, 2), (20, 2)):
        clock.advance(days * 86_400 * SECOND)
        await links.rotate("acme")
        async with store.read() as connection:
            assert len((await connection.execute(select(activation_links))).all()) == left


async def test_the_newest_link_of_a_recipient_is_shown_in_its_state(
    links: ActivationLinks, recipients: Recipients, clock: Clock
) -> None:
    await recipients.create("acme")
    assert await links.latest("acme") is None
    await links.rotate("acme")
    clock.advance(1 * SECOND)
    newest = await links.rotate("acme")
    found = await links.latest("ACME")
    assert found is not None
    assert (found.state, found.expires_at) == ("pending", newest.expires_at)
    await links.use(newest.token)
    found = await links.latest("acme")
    assert found is not None
    assert (found.state, found.used_at) == ("used", clock())
    with pytest.raises(NotFound):
        await links.latest("beta")
