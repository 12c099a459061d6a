"""The errors of exceeded limits. Each is counted, and says when it would pass."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Literal

from sluicegate.access.limits.bucket import Rate
from sluicegate.api.errors import RateLimited
from sluicegate.http.concurrency_limit import CONCURRENCY
from sluicegate.telemetry import count

Whose = Literal["this recipient", "your address"]

DAY_SECONDS = 86_400
# The limits that metrics and the audit log name differently.
_RULES = {
    f"{whose}{what}": f"{whose}{what}_per_day"
    for whose in ("", "address_")
    for what in ("files", "bytes")
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def too_many_requests(whose: Whose, rate: Rate, seconds: float) -> RateLimited:
    """The error for a request that comes too early."""
    wait = max(math.ceil(seconds), 1)
    message = (
        f"{whose} can send {rate.per_minute:,} requests per minute, and {rate.burst:,} at once; "
        f"try again in {wait} s"
    )
    return _refused(message, _limit_of(whose, "requests"), wait)


def too_many_at_once(number: int) -> RateLimited:
    """The error for an address with this number of concurrent requests."""
    count("sluicegate.limits.refused", limit="address_concurrent_requests")
    return RateLimited(
        f"your address has {number:,} concurrent requests already; wait until some complete, then try "
        "again"
    ).decided_by(CONCURRENCY)


def too_much_of_day(
    whose: Whose, what: str, limit: int, used: int, more: int, now: float
) -> RateLimited:
    """The error for a response that exceeds what a recipient or an address is offered in a day."""
    wait = seconds_left(now)
    if more > limit:
        message = (
            f"this response has {more:,} {what}, but {whose} gets at most {limit:,} per day: "
            "request less, with filters or a limit, or ask the provider for a higher limit"
        )
    else:
        until = (_EPOCH + timedelta(days=day_of(now) + 1)).strftime("%Y-%m-%dT%H:%MZ")
        message = (
            f"{whose} gets at most {limit:,} {what} per day: it got {used:,} today, and this "
            f"response has {more:,}; try again at {until}"
        )
    return _refused(message, _limit_of(whose, what), wait)


def day_of(now: float) -> int:
    """The day (UTC) of a time in seconds since the epoch, in days since the epoch."""
    return int(now // DAY_SECONDS)


def seconds_left(now: float) -> int:
    """Seconds until the next day (UTC), rounded up, at a time in seconds since the epoch."""
    return max(math.ceil((day_of(now) + 1) * DAY_SECONDS - now), 1)


def _limit_of(whose: Whose, what: str) -> str:
    """The name of a limit in metrics."""
    return what if whose == "this recipient" else f"address_{what}"


def _refused(message: str, limit: str, wait: int) -> RateLimited:
    count("sluicegate.limits.refused", limit=limit)
    return RateLimited(message, retry_after=wait).decided_by(f"limit {_RULES.get(limit, limit)}")
