"""Who a bearer token proves, and what is said when it proves nobody."""

from __future__ import annotations

import pytest
from access.conftest import Apply
from support.process.clock import Clock

from sluicegate.access.authentication.authenticate import Authentication
from sluicegate.access.authentication.bearer_tokens import BearerTokens
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.service import Recipients
from sluicegate.api import AuthenticationRequest, Authenticator
from sluicegate.api.errors import NotAuthenticated, PermissionDenied, Unauthenticated
from sluicegate.api.principals import Principal
from sluicegate.database import Store
from sluicegate_testing.fakes import authentication_request as asking

UNKNOWN = "slg_" + "A" * 43  # a constant: every process must find tests of the same names
DECLARED = """
recipients:
  open: {properties: {country: DE}}
  fenced: {allow_from: [203.0.113.0/24, "2001:db8::/32", 198.51.100.7]}
"""


@pytest.fixture
def authentication(store: Store, clock: Clock) -> Authentication:
    """Against the test's store."""
    return Authentication([BearerTokens(Grants(store), now=clock)])


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_a_token_proves_its_recipient(
    apply: Apply, recipients: Recipients, authentication: Authentication, scheme: str
) -> None:
    await apply(DECLARED)
    issued = await recipients.rotate("open")
    principal = await authentication.authenticate(asking(f"{scheme} {issued.secret}", "192.0.2.1"))
    assert principal == Principal(principal.id, "open", "bearer", "192.0.2.1", {"country": "DE"})


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (None, "missing"),
        ("", "missing"),
        ("Bearer", "malformed"),
        ("Bearer ", "malformed"),
        ("Basic dXNlcjpwYXNz", "malformed"),
        ("Bearer short", "malformed"),
        (f"Bearer {UNKNOWN}x", "malformed"),
        (f"Bearer {UNKNOWN[:-1]}ü", "malformed"),
        (f"Bearer {UNKNOWN} {UNKNOWN}", "malformed"),
        (UNKNOWN, "malformed"),
        (f"Bearer {UNKNOWN}", "unknown"),
    ],
)
async def test_headers_that_prove_nobody_are_refused(
    authentication: Authentication, header: str | None, problem: str
) -> None:
    with pytest.raises(Unauthenticated, match=problem) as raised:
        await authentication.authenticate(asking(header))
    assert "slg_" not in f"{raised.value.message}{raised.value.detail}"


class OfPlugin(Authenticator):
    """Recognizes no request."""

    def __init__(self, challenge: str | None) -> None:
        self.challenge = challenge

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        return None


PROFILE = "send 'Authorization: Bearer <token>' with the token of your profile"
AGREED = "or other credentials that you have agreed with the provider"


@pytest.mark.parametrize(
    ("challenges", "message"),
    [
        ([], f"the Authorization header is missing; {PROFILE}"),
        (["Bearer"], f"the Authorization header is missing; {PROFILE}"),
        (["Negotiate"], f"the request has no credentials; {PROFILE}, or credentials for Negotiate"),
        (
            ["Negotiate", "ApiKey", "Negotiate"],
            f"the request has no credentials; {PROFILE}, or credentials for Negotiate, or credentials "
            "for ApiKey",
        ),
        ([None], f"the request has no credentials; {PROFILE}, {AGREED}"),
        (
            [None, "ApiKey", None],
            f"the request has no credentials; {PROFILE}, or credentials for ApiKey, {AGREED}",
        ),
    ],
)
async def test_a_request_without_credentials_gets_the_names_of_accepted_ones(
    store: Store, challenges: list[str | None], message: str
) -> None:
    plugins = map(OfPlugin, challenges)
    with pytest.raises(NotAuthenticated) as raised:
        await Authentication([BearerTokens(Grants(store)), *plugins]).authenticate(asking(None))
    assert raised.value.message == message


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("203.0.113.9", True),
        ("198.51.100.7", True),
        ("::ffff:203.0.113.9", True),
        ("2001:db8::1", True),
        ("203.0.114.9", False),
        ("198.51.100.8", False),
        ("2001:db9::1", False),
        ("testclient", False),
        (None, False),
    ],
)
async def test_recipients_call_only_from_their_networks(
    apply: Apply,
    recipients: Recipients,
    authentication: Authentication,
    address: str | None,
    allowed: bool,
) -> None:
    await apply(DECLARED)
    header = f"Bearer {(await recipients.rotate('fenced')).secret}"
    if allowed:
        assert (await authentication.authenticate(asking(header, address))).name == "fenced"
    else:
        with pytest.raises(PermissionDenied, match="'fenced' may not call from this address"):
            await authentication.authenticate(asking(header, address))
