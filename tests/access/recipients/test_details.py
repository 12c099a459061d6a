"""What is shown of a recipient, and what remains when it is deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from access.conftest import Apply
from sqlalchemy import func, insert, select
from support.process.clock import Clock

from sluicegate.access.recipients.details import (
    OidcIdentity,
    RecipientDetails,
    delete_recipient,
    oidc_identities,
    recipient_details,
)
from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import NotFound
from sluicegate.config.sections.authentication import OidcSettings
from sluicegate.database import Store
from sluicegate.database.tables import CredentialKind, grants, ledger, tokens

SHARES = """
shares: {sales: {}, all: {from: {catalog: raw}}}
recipients:
  Acme: {shares: [sales, all], allow_from: [203.0.113.0/24], properties: {country: DE}}
  beta: {}
"""
KINDS: tuple[tuple[CredentialKind, int], ...] = (("bearer", 1), ("oauth", 20), ("bearer", 0))
ISSUER = OidcSettings(issuer="https://id.example.com", audience=("gateway",))


async def details(store: Store, clock: Clock, name: str = "acme") -> RecipientDetails:
    async with store.read() as connection:
        return await recipient_details(connection, name, clock())


def issued(recipient: RecipientDetails, at: int) -> dict[str, object]:
    """An entry of the ledger."""
    texts = dict.fromkeys(("kind", "share", "schema", "table", "table_id"), "x")
    mine = {"id": str(at), "recipient_id": recipient.id, "recipient": recipient.name}
    return {**texts, **mine, "given_at": at, "issued_at": at, "locations": []}


async def test_a_recipient_is_shown_with_its_grants_and_credentials(
    apply: Apply, recipients: Recipients, store: Store, clock: Clock
) -> None:
    await apply(SHARES)
    secrets = []
    for kind, later in KINDS:  # the grace is 10 seconds
        secrets.append((await recipients.rotate("acme", kind=kind)).secret)
        clock.advance(later * 1000)
    found = await details(store, clock, "ACME")
    assert (found.name, found.state, found.shares) == ("Acme", "active", ("all", "sales"))
    assert (found.allow_from, found.properties) == (("203.0.113.0/24",), {"country": "DE"})
    assert [(each.kind, each.state) for each in found.credentials] == [
        ("bearer", "valid"),
        ("oauth", "valid"),
        ("bearer", "expired"),
    ]
    assert found.valid_credentials == 2
    assert not any(secret in repr(found) for secret in secrets)


async def test_a_revoked_recipient_is_shown_with_both_times_until_it_is_restored(
    recipients: Recipients, store: Store, clock: Clock
) -> None:
    await recipients.create("acme")
    await recipients.revoke("acme")
    revoked = await details(store, clock)
    assert (revoked.state, revoked.revoked_at, revoked.last_revoked_at) == ("revoked", clock(), clock())
    assert [each.state for each in revoked.credentials] == ["revoked"]
    await recipients.restore("acme")
    restored = await details(store, clock)
    assert restored == replace(revoked, state="active", revoked_at=None)


async def test_the_last_use_is_the_newest_entry_in_the_ledger(
    recipients: Recipients, store: Store, clock: Clock
) -> None:
    await recipients.create("acme")
    before = await details(store, clock)
    async with store.append() as connection:
        await connection.execute(insert(ledger), [issued(before, at) for at in (5, 7, 6)])
    assert (before.last_issued_at, (await details(store, clock)).last_issued_at) == (None, 7)


async def test_deletion_removes_credentials_and_grants_but_no_entry_in_the_ledger(
    apply: Apply, recipients: Recipients, store: Store, clock: Clock
) -> None:
    await apply(SHARES)
    await recipients.rotate("acme")
    acme = await details(store, clock)
    async with store.write() as connection:
        await connection.execute(insert(ledger), [issued(acme, 5)])
        await delete_recipient(connection, acme.id)
    async with store.read() as connection:
        counts = [
            (await connection.execute(select(func.count()).select_from(table))).scalar_one()
            for table in (tokens, grants, ledger)
        ]
    assert counts == [0, 0, 1]
    assert [each.name for each in await recipients.list()] == ["beta"]
    with pytest.raises(NotFound, match="there is no recipient 'bata'; did you mean 'beta'"):
        await details(store, clock, "bata")


def test_identities_are_those_of_the_configuration() -> None:
    by_name = ISSUER.model_copy(update={"claim": "azp"})
    mapped = ISSUER.model_copy(update={"recipients": {"a": "ACME", "b": "beta", "c": "acme"}})
    others = ISSUER.model_copy(update={"recipients": {"b": "beta"}})
    assert oidc_identities([by_name, mapped, others], "Acme") == [
        OidcIdentity("https://id.example.com", "azp", ("Acme",)),
        OidcIdentity("https://id.example.com", "sub", ("a", "c")),
    ]
