"""The issuer of delegation tokens, with a vendor, keys and a clock that the tests hold."""

from __future__ import annotations

import pytest
from support.process.clock import Clock

from sluicegate.api import (
    MarshalledCredentials,
    TemporaryCredentials,
    TokenBinding,
    TokenIssuingPolicy,
    UnsupportedOperation,
)
from sluicegate.signing.keyring import KeyRing
from sluicegate.vending.hadoop.buckets import BucketScope, TableDirectories
from sluicegate.vending.hadoop.identifier import Layout
from sluicegate.vending.hadoop.issue import HadoopTokenRequest, IssuedToken, TokenIssuer
from sluicegate.vending.hadoop.token import HadoopToken

from .conftest import ORDERS, ROOT, Desk

OLD, NEW = b"o" * 32, b"n" * 32


class Made(TokenBinding):
    """A binding whose policy the tests choose."""

    name = "made"
    kind = "Acme/Made"
    hadoop_class = "com.acme.MadeBinding"
    credentials = None

    def __init__(self, policy: TokenIssuingPolicy = TokenIssuingPolicy.REQUEST_NEW_TOKEN) -> None:
        self._policy = policy

    @property
    def issuing_policy(self) -> TokenIssuingPolicy:
        return self._policy

    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        return MarshalledCredentials("key", "secret", expiration=credentials.expires_at or 0)


async def issue(
    desk: Desk,
    clock: Clock,
    keys: tuple[bytes, ...],
    *shown: HadoopToken,
    binding: TokenBinding | None = None,
) -> IssuedToken:
    issuer = TokenIssuer(desk.vending, KeyRing(keys), clock)
    scope = BucketScope("lake", (TableDirectories(ORDERS, desk.source, (ROOT,)),), (ROOT,))
    request = HadoopTokenRequest(binding or Made(), Layout.A, shown=shown)
    return await issuer.issue(desk.principals["acme"], scope, request)


async def test_a_token_of_an_older_key_is_known_until_that_key_is_gone(
    desk: Desk, clock: Clock
) -> None:
    token = (await issue(desk, clock, (OLD,))).token
    assert (await issue(desk, clock, (NEW, OLD), token)).bonded
    assert not (await issue(desk, clock, (NEW,), token)).bonded


async def test_a_token_that_has_ended_is_replaced(desk: Desk, clock: Clock) -> None:
    first = await issue(desk, clock, (OLD,))
    end = first.identifier.max_date
    assert (await issue(desk, Clock(end - 1), (OLD,), first.token)).bonded
    again = await issue(desk, Clock(end), (OLD,), first.token)
    assert (again.bonded, again.identifier.uuid == first.identifier.uuid) == (False, False)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (TokenIssuingPolicy.NO_TOKENS_AVAILABLE, "issues no tokens"),
        (TokenIssuingPolicy.RETURN_EXISTING_TOKEN, "issues the presented token, never a new one"),
    ],
)
async def test_a_binding_that_issues_nothing_new_vends_nothing(
    desk: Desk, clock: Clock, policy: TokenIssuingPolicy, said: str
) -> None:
    with pytest.raises(UnsupportedOperation, match=said):
        await issue(desk, clock, (OLD,), binding=Made(policy))
    assert await desk.entries() == []


async def test_existing_tokens_are_given_back_as_the_policy_says(desk: Desk, clock: Clock) -> None:
    token = (await issue(desk, clock, (OLD,))).token
    existing = Made(TokenIssuingPolicy.RETURN_EXISTING_TOKEN)
    assert (await issue(desk, clock, (OLD,), token, binding=existing)).bonded
    none = Made(TokenIssuingPolicy.NO_TOKENS_AVAILABLE)
    with pytest.raises(UnsupportedOperation):
        await issue(desk, clock, (OLD,), token, binding=none)


async def test_the_ledger_has_the_tokens_uuid(desk: Desk, clock: Clock) -> None:
    issued = await issue(desk, clock, (OLD,))
    (entry,) = await desk.entries()
    assert (entry.id, entry.kind) == (issued.identifier.uuid, "hadoop-token")
