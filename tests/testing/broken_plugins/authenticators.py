"""An authenticator with one mistake in each suite; `caught_by` names the check that must find it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar
from urllib.parse import quote

import pytest
from testing.broken_plugins.upstream import Client, inventory

from sluicegate.api import (
    AuthenticationRequest,
    Authenticator,
    NotFound,
    Principal,
    Unauthenticated,
    Unavailable,
)
from sluicegate_testing.authenticators import AuthenticatorBehaviour, Presented
from sluicegate_testing.fakes import authentication_request

SCHEME = "Session"


class Sessions(Authenticator):
    """A correct authenticator: a server knows whose session it is."""

    def __init__(self, url: str) -> None:
        self._client = Client(url)

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        scheme, _, session = request.authorization.partition(" ")
        if scheme != SCHEME:
            return None
        return Principal("", await self.name_of(session), "session", request.address)

    async def name_of(self, session: str) -> str:
        try:
            found = await self._client.get("/sessions", f"session={quote(session, safe='')}")
        except NotFound as error:
            raise Unauthenticated("the session is not known; log in again") from error
        if found["name"] not in {"acme", "umbrella"}:
            raise Unauthenticated("the session is not known; log in again")
        return str(found["name"])

    async def aclose(self) -> None:
        await self._client.aclose()


class TestSessions(AuthenticatorBehaviour):
    """The correct one passes all checks."""

    caught_by: ClassVar[str | None] = None
    kind: ClassVar[type[Sessions]] = Sessions

    @pytest.fixture
    def url(self) -> Iterator[str]:
        with inventory() as url:
            yield url

    @pytest.fixture
    def authenticator(self, url: str) -> Authenticator:
        return self.kind(url)

    @pytest.fixture
    def failing(self, failing_servers: Mapping[str, str]) -> Mapping[str, Authenticator]:
        return {how: self.kind(url) for how, url in failing_servers.items()}

    @pytest.fixture
    def accepted(self) -> Sequence[tuple[Presented, str]]:
        return [(f"{SCHEME} session-of-{name}", name) for name in ("acme", "umbrella")]

    @pytest.fixture
    def refused(self) -> Sequence[Presented]:
        return [f"{SCHEME} session-of-nobody", f"{SCHEME} forged-session"]


class NamesSomebodyElse(Sessions):
    async def name_of(self, session: str) -> str:
        return (await super().name_of(session)).upper()


class TestNamesSomebodyElse(TestSessions):
    caught_by = "test_valid_credentials_name_their_recipient"
    kind = NamesSomebodyElse


class LetsEverybodyIn(Sessions):
    async def name_of(self, session: str) -> str:
        try:
            return await super().name_of(session)
        except Unauthenticated:
            return "acme"


class TestLetsEverybodyIn(TestSessions):
    caught_by = "test_invalid_credentials_are_unauthenticated"
    kind = LetsEverybodyIn


class RefusesWhatIsNotItsOwn(Sessions):
    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        found = await super().authenticate(request)
        if found is None:
            raise Unauthenticated("show a session")
        return found


class TestRefusesWhatIsNotItsOwn(TestSessions):
    caught_by = "test_credentials_for_others_are_left_to_them"
    kind = RefusesWhatIsNotItsOwn


class FailsForMalformedOnes(Sessions):
    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        scheme, _ = request.authorization.split(" ")
        return await super().authenticate(request) if scheme else None


class TestFailsForMalformedOnes(TestSessions):
    caught_by = "test_malformed_credentials_are_refused_or_left_to_others"
    kind = FailsForMalformedOnes


class ComparesAPrefix(Sessions):
    async def name_of(self, session: str) -> str:
        for name in ("acme", "umbrella"):
            if session.startswith(f"session-of-{name}"):
                return await super().name_of(f"session-of-{name}")
        return await super().name_of(session)


class TestComparesAPrefix(TestSessions):
    caught_by = "test_a_truncated_or_extended_value_is_not_accepted"
    kind = ComparesAPrefix


class MixesCallersUp(Sessions):
    session = ""

    async def name_of(self, session: str) -> str:
        self.session = session
        await self._client.get("/regions")
        return await super().name_of(self.session)


class TestMixesCallersUp(TestSessions):
    caught_by = "test_callers_at_the_same_time_are_not_mixed_up"
    kind = MixesCallersUp


class NeedsAnAddress(Sessions):
    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        if request.address is None:
            raise Unauthenticated("your address is not known")
        return await super().authenticate(request)


class TestNeedsAnAddress(TestSessions):
    caught_by = "test_an_unknown_address_is_no_obstacle"
    kind = NeedsAnAddress


class RepeatsTheSession(Sessions):
    async def name_of(self, session: str) -> str:
        try:
            return await super().name_of(session)
        except Unauthenticated as error:
            raise Unauthenticated(f"there is no session {session}") from error


class TestRepeatsTheSession(TestSessions):
    caught_by = "test_errors_do_not_repeat_what_was_presented"
    kind = RepeatsTheSession


class Sleeps(Sessions):
    async def name_of(self, session: str) -> str:
        time.sleep(0.001)  # noqa: ASYNC251 - the mistake
        return await super().name_of(session)


class TestSleeps(TestSessions):
    caught_by = "test_nothing_blocks_the_event_loop"
    kind = Sleeps


class RaisesAsItsLibrary(Sessions):
    async def name_of(self, session: str) -> str:
        try:
            return await super().name_of(session)
        except Unavailable as error:
            raise ConnectionError("no answer") from error


class TestRaisesAsItsLibrary(TestSessions):
    caught_by = "test_errors_are_those_of_the_api"
    kind = RaisesAsItsLibrary


class RefusesInAnOutage(Sessions):
    async def name_of(self, session: str) -> str:
        try:
            return await super().name_of(session)
        except Unavailable as error:
            raise Unauthenticated("the session is not known; log in again") from error


class TestRefusesInAnOutage(TestSessions):
    caught_by = "test_an_outage_is_unavailable"
    kind = RefusesInAnOutage


class SecretInTheMessage(Sessions):
    async def name_of(self, session: str) -> str:
        try:
            return await super().name_of(session)
        except Unavailable as error:
            token = self._client.token.get_secret_value()
            raise Unavailable(f"no sessions for {token}") from error


class TestSecretInTheMessage(TestSessions):
    caught_by = "test_errors_hide_secrets"
    kind = SecretInTheMessage


class AcceptsNothing(Sessions):
    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        return await super().authenticate(request) if request.headers else Principal("", "acme", "none")


class TestAcceptsNothing(TestSessions):
    caught_by = "test_a_request_without_credentials_is_left_to_others"
    kind = AcceptsNothing


class HasAChallengeOfTwoLines(Sessions):
    challenge = "Session\r\nX-Injected: 1"


class TestHasAChallengeOfTwoLines(TestSessions):
    caught_by = "test_its_challenge_can_be_sent"
    kind = HasAChallengeOfTwoLines


class AcceptsEachOnce(Sessions):
    """Correct: what was accepted is refused the second time."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._seen: set[str] = set()

    async def name_of(self, session: str) -> str:
        name = await super().name_of(session)
        if session in self._seen:
            raise Unauthenticated("the session was used before; log in again")
        self._seen.add(session)
        return name


class TestAcceptsEachOnce(TestSessions):
    caught_by = None
    kind = AcceptsEachOnce
    can_repeat = False


class TestComparesAPrefixOfARequest(TestSessions):
    caught_by = "test_a_truncated_or_extended_value_is_not_accepted"
    kind = ComparesAPrefix

    @pytest.fixture
    def accepted(self) -> Sequence[tuple[Presented, str]]:
        return [
            (authentication_request(f"{SCHEME} session-of-{name}", path="/signed"), name)
            for name in ("acme", "umbrella")
        ]


class RepeatsAnotherHeader(Sessions):
    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        key = request.headers.get("x-api-key")
        if key is not None:
            raise Unauthenticated(f"there is no key {key}")
        return await super().authenticate(request)


class TestRepeatsAnotherHeader(TestSessions):
    caught_by = "test_errors_do_not_repeat_what_was_presented"
    kind = RepeatsAnotherHeader

    @pytest.fixture
    def refused(self) -> Sequence[Presented]:
        return [authentication_request(headers={"x-api-key": "key-of-nobody"})]
