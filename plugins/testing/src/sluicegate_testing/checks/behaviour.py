"""Tests for all instances that a plugin builds, of any kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest
import pytest_asyncio

from sluicegate.api import ConfigurationError, NotFound, PermissionDenied, Unavailable
from sluicegate_testing.checks.blocking import never_blocking
from sluicegate_testing.checks.failures import (
    Calls,
    Failure,
    check_kinds,
    check_texts,
    configured_secrets,
    failures_of,
)
from sluicegate_testing.servers.failing import FORBIDS, SERVER_WORDS, SLOW, failing_servers

MakeCalls = Callable[[Any], Calls]

_OUTAGE = (Unavailable, ConfigurationError)


@pytest.mark.asyncio
class InstanceBehaviour:
    """Part of every suite: errors, secrets, and a responsive event loop.

    Attributes:
        can_fail: Set it to `False` if the instance cannot fail, because it uses no server, file, or
            database.
    """

    can_fail: ClassVar[bool] = True

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        """Secrets of the configuration, in addition to each `SecretStr` in the instance."""
        return ()

    @pytest.fixture
    def failing_servers(self) -> Iterator[Mapping[str, str]]:
        """URLs of failing servers, by the kind of failure."""
        with failing_servers() as urls:
            yield urls

    @pytest.fixture
    def failing(self) -> Mapping[str, Any]:
        """Instances with a failing source, by the kind of failure. The suite closes them.

        If the source is a server, build one instance for each of `failing_servers`.
        """
        if not self.can_fail:
            return {}
        raise NotImplementedError(
            "provide a fixture 'failing': {failure: instance}, for example for each URL of the fixture "
            "'failing_servers'; set can_fail = False if the instance cannot fail"
        )

    @pytest.fixture
    def calls(self) -> MakeCalls:
        """Valid calls of an instance, by name. Each suite defines them."""
        raise NotImplementedError

    @pytest.fixture
    def invalid_calls(self) -> MakeCalls:
        """Calls that an instance must reject. Each suite defines them."""
        return lambda _: {}

    @pytest_asyncio.fixture
    async def outages(self, failing: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
        """The failing instances, closed at the end."""
        yield failing
        for instance in failing.values():
            await instance.aclose()

    @pytest_asyncio.fixture
    async def failures(
        self, subject: Any, outages: Mapping[str, Any], calls: MakeCalls, invalid_calls: MakeCalls
    ) -> list[Failure]:
        """All errors that the suite provokes."""
        return await failures_of(invalid_calls(subject)) + await _outage_failures(outages, calls)

    async def test_nothing_blocks_the_event_loop(
        self, subject: Any, outages: Mapping[str, Any], calls: MakeCalls
    ) -> None:
        async with never_blocking():
            await failures_of(calls(subject))
            await asyncio.gather(*(failures_of(calls(each)) for each in outages.values()))

    async def test_errors_are_those_of_the_api(self, failures: Sequence[Failure]) -> None:
        check_kinds(failures)

    async def test_an_outage_is_unavailable(self, outages: Mapping[str, Any], calls: MakeCalls) -> None:
        failures = await _outage_failures(outages, calls)
        failed = {failure.circumstances for failure in failures}
        silent = [how for how in outages if how not in failed | {SLOW}]
        assert silent == [], "no call fails although the source does"
        forbidden = [failure for failure in failures if failure.circumstances in FORBIDS]
        check_kinds(forbidden, *_OUTAGE, NotFound, PermissionDenied)
        check_kinds([failure for failure in failures if failure not in forbidden], *_OUTAGE)

    async def test_errors_hide_secrets(
        self,
        subject: Any,
        outages: Mapping[str, Any],
        failures: Sequence[Failure],
        secrets: Sequence[str],
    ) -> None:
        held = [configured_secrets(instance) for instance in (subject, *outages.values())]
        check_texts(failures, {*secrets}.union(*held), log=True)

    async def test_messages_repeat_nothing_of_the_server(
        self, failures: Sequence[Failure], failing_servers: Mapping[str, str]
    ) -> None:
        addresses = [url.partition("://")[2] for url in failing_servers.values()]
        check_texts(failures, [SERVER_WORDS, *addresses], log=False)

    async def test_its_texts_hide_secrets(self, subject: Any, secrets: Sequence[str]) -> None:
        shown = f"{subject!r} {subject}"
        hidden = {*secrets} | configured_secrets(subject)
        assert not any(secret in shown for secret in hidden), "repr or str shows a secret"

    async def test_closing_twice_is_harmless(self, subject: Any) -> None:
        await subject.aclose()
        await subject.aclose()


async def _outage_failures(outages: Mapping[str, Any], calls: MakeCalls) -> list[Failure]:
    """Return the errors of the valid calls. The slow source only tests for blocking calls."""
    failing = {how: instance for how, instance in outages.items() if how != SLOW}
    found = await asyncio.gather(*(failures_of(calls(each), how) for how, each in failing.items()))
    return [failure for failures in found for failure in failures]
