"""Tests for every authenticator. Inherit the suite in the tests of your plugin.

class TestMyAuthenticator(AuthenticatorBehaviour):
    @pytest.fixture
    def authenticator(self) -> Authenticator: ...
    @pytest.fixture
    def accepted(self) -> Sequence[tuple[Presented, str]]: ...
    @pytest.fixture
    def refused(self) -> Sequence[Presented]: ...
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

import pytest
import pytest_asyncio

from sluicegate.api import AuthenticationRequest, Authenticator, Principal, Unauthenticated
from sluicegate_testing.checks.behaviour import InstanceBehaviour, MakeCalls
from sluicegate_testing.checks.failures import Calls, check_texts, failures_of

Presented = str | AuthenticationRequest
"""A value of the header `Authorization`, or another request."""

ADDRESS = "192.0.2.7"
FOREIGN = ("Unheard-Of dGhpcyBpcyBub2JvZHkncw==",)
ODD = (
    *("Bearer", "Bearer ", "Basic", "Basic !!!", "Basic Og==", "Negotiate", "Digest ,,,=", ","),
    *("Bearer a.b.c", "Bearer ....", "Bearer " + "x" * 8000, "Bearer \u00fc\u00e9", "Bearer a\0b"),
    *("Bearer eyJhbGciOiJub25lIn0.e30.", "Basic " + "/w==", " ", "\t"),
)

_SHORTEST_HEADER = 8
_CHALLENGE = re.compile(r"[!#-'*+.^_`|~\w-]+( [\x20-\x7e]+)?", re.ASCII)


@pytest.mark.asyncio
class AuthenticatorBehaviour(InstanceBehaviour):
    """Inherit it as `Test…`; provide the fixtures `authenticator`, `accepted`, `refused`, `failing`.

    Override `foreign` if its default, an unknown scheme, is not suitable.

    Attributes:
        can_repeat: Declare `False` if the authenticator accepts the same credentials only once, such as
            signatures with a nonce. The suite then presents them to each instance once.
    """

    can_repeat: ClassVar[bool] = True

    @pytest.fixture
    def authenticator(self) -> Authenticator:
        """The authenticator under test; the suite closes it."""
        raise NotImplementedError("provide a fixture 'authenticator'")

    @pytest.fixture
    def accepted(self) -> Sequence[tuple[Presented, str]]:
        """Valid credentials, each with the name of its recipient."""
        raise NotImplementedError("provide a fixture 'accepted': [(presented, recipient)]")

    @pytest.fixture
    def refused(self) -> Sequence[Presented]:
        """Invalid credentials for this authenticator: expired, forged, unknown."""
        raise NotImplementedError("provide a fixture 'refused': [presented]")

    @pytest.fixture
    def foreign(self) -> Sequence[Presented]:
        """Credentials for other authenticators."""
        return FOREIGN

    @pytest_asyncio.fixture
    async def subject(self, authenticator: Authenticator) -> AsyncIterator[Authenticator]:
        """The authenticator, closed at the end."""
        yield authenticator
        await authenticator.aclose()

    @pytest.fixture
    def calls(self, accepted: Sequence[tuple[Presented, str]]) -> MakeCalls:
        """Calls with valid credentials, named by numbers because the values are secrets."""
        valid = [presented for presented, _ in accepted]
        return lambda authenticator: _attempts(authenticator, "accepted", valid)

    @pytest.fixture
    def invalid_calls(self, refused: Sequence[Presented], foreign: Sequence[Presented]) -> MakeCalls:
        """Calls with refused, foreign and malformed credentials."""

        def calls(authenticator: Authenticator) -> Calls:
            return {
                **_attempts(authenticator, "refused", refused),
                **_attempts(authenticator, "foreign", foreign),
                **_attempts(authenticator, "malformed", ODD),
            }

        return calls

    async def test_valid_credentials_name_their_recipient(
        self, subject: Authenticator, accepted: Sequence[tuple[Presented, str]]
    ) -> None:
        assert accepted, "'accepted' needs a value"
        for number, (presented, name) in enumerate(accepted):
            principal = await _authenticate(subject, presented)
            assert principal is not None, f"accepted[{number}] is assigned to another recipient"
            assert principal.name == name
            assert principal.method, "a principal must have the method by which it was authenticated"

    async def test_invalid_credentials_are_unauthenticated(
        self, subject: Authenticator, refused: Sequence[Presented]
    ) -> None:
        assert refused, "'refused' needs a value"
        for presented in refused:
            with pytest.raises(Unauthenticated):
                await _authenticate(subject, presented)

    async def test_credentials_for_others_are_left_to_them(
        self, subject: Authenticator, foreign: Sequence[Presented]
    ) -> None:
        assert [await _authenticate(subject, each) for each in foreign] == [None] * len(foreign)

    @pytest.mark.parametrize("authorization", ODD, ids=range(len(ODD)))
    async def test_malformed_credentials_are_refused_or_left_to_others(
        self, subject: Authenticator, authorization: str
    ) -> None:
        found = await failures_of(_attempts(subject, "malformed", [authorization]))
        assert all(isinstance(failure.error, Unauthenticated) for failure in found), found
        assert found or await _authenticate(subject, authorization) is None

    async def test_a_truncated_or_extended_value_is_not_accepted(
        self, subject: Authenticator, accepted: Sequence[tuple[Presented, str]]
    ) -> None:
        for number, (presented, _) in enumerate(accepted):
            for altered in _altered(_request(presented)):
                found = await failures_of(_attempts(subject, "altered", [altered]))
                assert all(isinstance(failure.error, Unauthenticated) for failure in found), found
                assert found or await _authenticate(subject, altered) is None, f"accepted[{number}]"

    async def test_callers_at_the_same_time_are_not_mixed_up(
        self,
        subject: Authenticator,
        accepted: Sequence[tuple[Presented, str]],
        refused: Sequence[Presented],
    ) -> None:
        async def named(presented: Presented) -> str | None:
            try:
                principal = await _authenticate(subject, presented)
            except Unauthenticated:
                return None
            return None if principal is None else principal.name

        valid = [*accepted] * (8 if self.can_repeat else 1)
        expected = [*valid, *[(presented, None) for presented in refused] * 8]
        found = await asyncio.gather(*(named(presented) for presented, _ in expected))
        assert found == [name for _, name in expected]

    async def test_an_unknown_address_is_no_obstacle(
        self, subject: Authenticator, accepted: Sequence[tuple[Presented, str]]
    ) -> None:
        for presented, name in accepted:
            request = replace(_request(presented), address=None)
            principal = await subject.authenticate(request)
            assert principal is not None
            assert principal.name == name

    async def test_a_request_without_credentials_is_left_to_others(
        self, subject: Authenticator
    ) -> None:
        assert await subject.authenticate(AuthenticationRequest("GET", "/")) is None

    async def test_its_challenge_can_be_sent(self, subject: Authenticator) -> None:
        if subject.challenge is not None:
            assert _CHALLENGE.fullmatch(subject.challenge), 'as in Basic realm="sluicegate"'

    async def test_errors_do_not_repeat_what_was_presented(
        self, subject: Authenticator, refused: Sequence[Presented]
    ) -> None:
        for presented in refused:
            failures = await failures_of(_attempts(subject, "refused", [presented]))
            check_texts(failures, set(_values(_request(presented))), log=True)


def _request(presented: Presented) -> AuthenticationRequest:
    if isinstance(presented, AuthenticationRequest):
        return presented
    headers = {"authorization": presented}
    return AuthenticationRequest("GET", "/delta-sharing/shares", headers=headers, address=ADDRESS)


def _altered(request: AuthenticationRequest) -> Iterator[AuthenticationRequest]:
    """The request with other values of `Authorization`; none if it has no such header."""
    value = request.authorization
    for altered in (value[:-4], f"{value}AAAA", value.swapcase()) if value else ():
        others = {
            name: each for name, each in request.headers.items() if name.lower() != "authorization"
        }
        yield replace(request, headers={**others, "authorization": altered})


def _values(request: AuthenticationRequest) -> Iterator[str]:
    """Return the values in a request that are long enough not to occur in errors by chance."""
    value = request.authorization
    yield from {value, value.partition(" ")[2].strip()} - {""}
    yield from (each for each in request.headers.values() if len(each) >= _SHORTEST_HEADER)


async def _authenticate(authenticator: Authenticator, presented: Presented) -> Principal | None:
    return await authenticator.authenticate(_request(presented))


def _attempts(authenticator: Authenticator, what: str, values: Sequence[Presented]) -> Calls:
    return {
        f"authenticate with {what}[{number}]": partial(_authenticate, authenticator, value)
        for number, value in enumerate(values)
    }
