"""What recipients with limits may send and get, and what they are told about it."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import copy_context
from typing import Any

import pytest
from support.process.clock import Clock

from sluicegate.access.limits.models import LimitsEntry, RecipientLimits
from sluicegate.access.limits.recipients import RecipientLimiter
from sluicegate.api.errors import RateLimited
from sluicegate.config.sections.limits import AddressLimitSettings, RecipientLimitSettings
from sluicegate.telemetry.context import RequestInfo, enter_request

DAY = 86_400
NOON = 20_000 * DAY + DAY // 2
HALF_A_DAY = DAY // 2


def limiter(clock: Clock, own: Mapping[str, Any] | None = None, **defaults: Any) -> RecipientLimiter:
    settings = RecipientLimitSettings.model_validate(defaults)
    made = RecipientLimiter(settings, clock=clock, wall_clock=clock)
    made.adopt({"acme": own} if own else {})
    return made


@pytest.fixture
def clock() -> Clock:
    """Seconds since the epoch, at noon."""
    return Clock(NOON)


def headers_after(made: RecipientLimiter, recipient: str = "acme") -> dict[str, str]:
    """The headers of the response to a request."""

    def served() -> list[tuple[bytes, bytes]]:
        request = RequestInfo("1")
        enter_request(request)
        made.admit(recipient)
        return request.headers() if request.headers else []

    found = copy_context().run(served)
    return {name.decode(): value.decode() for name, value in found}


def test_too_many_requests_are_refused_until_the_retry_time(clock: Clock) -> None:
    made = limiter(clock, requests_per_minute=6, burst=2)
    made.admit("acme")
    made.admit("acme")
    with pytest.raises(RateLimited, match="6 requests per minute, and 2 at once") as refusal:
        made.admit("acme")
    assert refusal.value.retry_after == 10
    made.admit("rival")
    clock.advance(10)
    made.admit("acme")


def test_nothing_is_counted_and_returned_without_limits(clock: Clock) -> None:
    made = limiter(clock)
    assert headers_after(made) == {}
    made.offer("acme", None, 10**9, 10**15)
    assert made.use.of("acme", made.today).files == 0


def test_the_response_has_limits_and_what_is_left(clock: Clock) -> None:
    made = limiter(clock, requests_per_minute=100, files_per_day=10, bytes_per_day=10**15 - 1)
    made.offer("acme", None, 4, 700)
    assert headers_after(made) == {
        "ratelimit-policy": '"requests";q=100;w=60, "files";q=10;w=86400, '
        '"bytes";q=999999999999999;w=86400',
        "ratelimit": f'"requests";r=99;t=1, "files";r=6;t={HALF_A_DAY}, '
        f'"bytes";r=999999999999299;t={HALF_A_DAY}',
    }


def test_a_burst_is_described_with_the_time_that_it_takes(clock: Clock) -> None:
    policy = headers_after(limiter(clock, requests_per_minute=60, burst=300))["ratelimit-policy"]
    assert policy == '"requests";q=300;w=300'


@pytest.mark.parametrize(
    ("limits", "what"), [({"files_per_day": 5}, "5 files"), ({"bytes_per_day": 500}, "500 bytes")]
)
def test_a_response_beyond_the_days_quota_is_refused_and_not_counted(
    clock: Clock, limits: dict[str, Any], what: str
) -> None:
    made = limiter(clock, **limits)
    made.offer("acme", None, 3, 300)
    with pytest.raises(RateLimited, match=f"at most {what} per day: it got 3") as refusal:
        made.offer("acme", None, 3, 300)
    assert "2024-10-05T00:00Z" in refusal.value.message
    assert refusal.value.retry_after == HALF_A_DAY
    made.offer("acme", None, 2, 200)
    made.offer("rival", None, 5, 500)


def test_a_response_larger_than_the_quota_is_refused_with_a_hint(clock: Clock) -> None:
    made = limiter(clock, files_per_day=5)
    with pytest.raises(
        RateLimited, match=r"this response has 1,000 files, .* at most 5 per day: request"
    ):
        made.offer("acme", None, 1_000, 1)


def test_responses_without_files_pass_when_the_quota_is_used_up(clock: Clock) -> None:
    made = limiter(clock, files_per_day=5, bytes_per_day=500)
    made.offer("acme", None, 5, 500)
    made.offer("acme", None, 0, 0)


def test_an_address_has_a_quota_for_all_of_its_recipients(clock: Clock) -> None:
    of_address = AddressLimitSettings(files_per_day=5)
    made = RecipientLimiter(RecipientLimitSettings(files_per_day=4), of_address, wall_clock=clock)
    assert made.has_quotas
    made.offer("acme", "2001:db8::1", 3, 1)
    with pytest.raises(RateLimited, match="your address gets at most 5 files per day: it got 3"):
        made.offer("rival", "2001:db8::2", 3, 1)
    with pytest.raises(RateLimited, match="this recipient gets at most 4 files per day: it got 3"):
        made.offer("acme", "192.0.2.1", 3, 1)
    made.offer("rival", "192.0.2.1", 3, 1)
    made.offer("rival", None, 1, 1)


def test_a_new_day_begins_at_midnight_in_utc(clock: Clock) -> None:
    made = limiter(clock, files_per_day=5)
    made.offer("acme", None, 5, 1)
    clock.advance(HALF_A_DAY - 0.5)
    with pytest.raises(RateLimited) as refusal:
        made.offer("acme", None, 5, 1)
    assert refusal.value.retry_after == 1
    clock.advance(0.5)
    made.offer("acme", None, 5, 1)


def test_a_clock_that_goes_back_to_the_day_before_continues_that_day(clock: Clock) -> None:
    made = limiter(clock, files_per_day=5)
    clock.advance(HALF_A_DAY - 1)
    made.offer("acme", None, 3, 1)
    clock.advance(2)
    made.offer("acme", None, 5, 1)
    clock.advance(-2)
    with pytest.raises(RateLimited, match="it got 3 today"):
        made.offer("acme", None, 3, 1)
    clock.advance(2)
    with pytest.raises(RateLimited, match="it got 5 today"):
        made.offer("acme", None, 1, 1)


def test_a_recipients_own_limits_replace_the_defaults(clock: Clock) -> None:
    own = {"requests_per_minute": "unlimited", "files_per_day": 7, "concurrent_requests": 3}
    made = limiter(clock, own, requests_per_minute=1, files_per_day=1, bytes_per_day=10)
    for _ in range(100):
        assert made.admit("acme") == 3
    made.offer("acme", None, 7, 10)
    with pytest.raises(RateLimited, match="10 bytes"):
        made.offer("acme", None, 0, 1)
    made.adopt({})
    with pytest.raises(RateLimited, match="1 files"):
        made.offer("acme", None, 1, 0)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, (60, 5)),
        ({"requests_per_minute": 30}, (30, 30)),
        ({"requests_per_minute": 30, "burst": 3}, (30, 3)),
        ({"burst": 3}, (60, 3)),
    ],
)
def test_the_default_burst_belongs_to_the_default_rate(
    own: dict[str, int], expected: tuple[int, int]
) -> None:
    defaults = RecipientLimitSettings(requests_per_minute=60, burst=5)
    rate = RecipientLimits.of(defaults, own).rate
    assert rate is not None
    assert (rate.per_minute, rate.burst) == expected


def test_limits_of_a_later_version_are_ignored() -> None:
    limits = RecipientLimits.of(RecipientLimitSettings(), {"rows_per_day": 1})
    assert limits == RecipientLimits()


def test_an_entry_without_limits_stores_nothing() -> None:
    assert LimitsEntry().stored() is None
    assert LimitsEntry.model_validate({"bytes_per_day": "2GB"}).stored() == {"bytes_per_day": 2 * 10**9}
