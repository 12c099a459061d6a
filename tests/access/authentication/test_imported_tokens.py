"""Tokens of another server authenticate the recipient that they were imported for, and nobody else."""

from __future__ import annotations

import pytest
from access.conftest import Apply
from support.process.clock import Clock

from sluicegate.access.authentication.bearer_tokens import ImportedTokens
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.imported_tokens import import_token, is_guessable
from sluicegate.access.recipients.secrets import digest
from sluicegate.access.recipients.service import Recipients
from sluicegate.api.errors import PermissionDenied, Unauthenticated
from sluicegate.database import Store
from sluicegate.database.reads import CredentialRecord
from sluicegate_testing.fakes import authentication_request as asking

OLD = "an.old/token+with=odd~characters"
DECLARED = "recipients: {acme: {allow_from: [203.0.113.0/24]}}"
SECOND = 1000


async def imported(store: Store, clock: Clock, token: str = OLD) -> ImportedTokens:
    async with store.write() as connection:
        await import_token(connection, "ACME", token, 100, clock())
    return ImportedTokens(Grants(store, max_age=0), now=clock)


async def test_an_imported_token_authenticates_its_recipient(
    store: Store, clock: Clock, apply: Apply
) -> None:
    await apply(DECLARED)
    tokens = await imported(store, clock)
    principal = await tokens.authenticate(asking(f"Bearer {OLD}", "203.0.113.9"))
    assert principal is not None
    assert (principal.name, principal.method) == ("acme", "bearer")
    with pytest.raises(PermissionDenied):
        await tokens.authenticate(asking(f"Bearer {OLD}", "203.0.114.9"))


@pytest.mark.parametrize("token", [OLD[:-1], OLD.upper(), f"{OLD}é", "", "x" * 4097, f"{OLD} {OLD}"])
async def test_other_tokens_are_left_to_other_authenticators(
    store: Store, clock: Clock, apply: Apply, token: str
) -> None:
    await apply(DECLARED)
    tokens = await imported(store, clock)
    assert await tokens.authenticate(asking(f"Bearer {token}", "203.0.113.9")) is None
    assert await tokens.authenticate(asking(f"Basic {OLD}", "203.0.113.9")) is None


async def test_tokens_of_others_are_looked_up_only_if_any_was_imported(
    store: Store, clock: Clock, apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[bytes] = []
    token = Grants.token

    async def counted(grants: Grants, presented: bytes) -> CredentialRecord | None:
        looked_up.append(presented)
        return await token(grants, presented)

    monkeypatch.setattr(Grants, "token", counted)
    await apply(DECLARED)
    tokens = ImportedTokens(Grants(store, max_age=0), now=clock)
    for _ in range(3):
        assert await tokens.authenticate(asking("Bearer of-a-plugin")) is None
    assert looked_up == []
    await imported(store, clock)
    assert await tokens.authenticate(asking(f"Bearer {OLD}", "203.0.113.9")) is not None
    assert looked_up == [digest(OLD)]


@pytest.mark.parametrize("end", ["expired", "revoked"])
async def test_an_imported_token_ends_like_any_other(
    store: Store, clock: Clock, apply: Apply, recipients: Recipients, end: str
) -> None:
    await apply(DECLARED)
    tokens = await imported(store, clock)
    if end == "expired":
        clock.advance(100 * SECOND)
    else:
        await recipients.revoke("acme")
    with pytest.raises(Unauthenticated, match=end):
        await tokens.authenticate(asking(f"Bearer {OLD}", "203.0.113.9"))


async def test_a_rotation_ends_an_imported_token_after_the_grace_period(
    store: Store, clock: Clock, apply: Apply, recipients: Recipients
) -> None:
    await apply("recipients: {acme: {}}")
    tokens = await imported(store, clock)
    await recipients.rotate("acme")
    clock.advance(10 * SECOND - 1)
    assert await tokens.authenticate(asking(f"Bearer {OLD}")) is not None
    clock.advance(1)
    with pytest.raises(Unauthenticated, match="expired"):
        await tokens.authenticate(asking(f"Bearer {OLD}"))


@pytest.mark.parametrize(
    ("token", "guessable"),
    [
        ("secret", True),
        ("0" * 64, True),
        ("abcabcabcabcabcabcabcabcabcabcabcabc", True),
        ("7f3a9c21d4e6805bb7f3a9c21d4e6805", False),
    ],
)
def test_short_and_repetitive_tokens_are_recognized(token: str, guessable: bool) -> None:
    assert is_guessable(token) is guessable
