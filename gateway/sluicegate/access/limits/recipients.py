"""Applies the limits of recipients: rates to each request, and quotas of a day to each response."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sluicegate.access.limits.addresses import address_key
from sluicegate.access.limits.bucket import TokenBuckets
from sluicegate.access.limits.daily_use import Amount, DailyUse
from sluicegate.access.limits.models import RecipientLimits
from sluicegate.access.limits.refusals import (
    DAY_SECONDS,
    Whose,
    day_of,
    seconds_left,
    too_many_requests,
    too_much_of_day,
)
from sluicegate.config.sections.limits import AddressLimitSettings, RecipientLimitSettings
from sluicegate.telemetry.context import add_response_headers


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit of a recipient, and what is left of it.

    Attributes:
        window: Seconds.
        resets: Seconds until everything is available again.
    """

    name: str
    size: int
    window: int
    left: int
    resets: int


def rate_limit_headers(quotas: Iterable[Quota]) -> list[tuple[bytes, bytes]]:
    """The headers as ASGI messages contain them; none without quotas."""
    shown = tuple(quotas)
    if not shown:
        return []
    policies = (f'"{each.name}";q={each.size};w={each.window}' for each in shown)
    states = (f'"{each.name}";r={each.left};t={each.resets}' for each in shown)
    return [
        (b"ratelimit-policy", ", ".join(policies).encode()),
        (b"ratelimit", ", ".join(states).encode()),
    ]


_BUCKETS = 20_000
_NO_LIMITS = RecipientLimits()


class RecipientLimiter:
    """Counts the requests of recipients, and what they are offered.

    Nothing is counted for recipients without limits. A request never waits for the database: see
    `LimitSync`.
    """

    def __init__(
        self,
        defaults: RecipientLimitSettings,
        addresses: AddressLimitSettings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.use = DailyUse()
        self._settings = defaults
        self._default = _or_none(RecipientLimits.default(defaults))
        of_address = RecipientLimits.default(addresses or AddressLimitSettings())
        self._of_address = of_address if of_address.daily else None
        self._own: dict[str, RecipientLimits | None] = {}
        self._buckets: TokenBuckets[str] = TokenBuckets(_BUCKETS, clock)
        self._wall_clock = wall_clock

    @property
    def today(self) -> int:
        """The day, in days since the epoch."""
        return day_of(self._wall_clock())

    def adopt(self, own: Mapping[str, Mapping[str, Any]]) -> None:
        """Apply the limits of the shares file from now on, by the recipients' ids."""
        self._own = {
            recipient: _or_none(RecipientLimits.of(self._settings, limits))
            for recipient, limits in own.items()
        }

    @property
    def has_quotas(self) -> bool:
        """Whether a recipient or an address has quotas of a day."""
        everybody = (self._default, self._of_address, *self._own.values())
        return any(limits and limits.daily for limits in everybody)

    def admit(self, recipient: str) -> int | None:
        """Count a request of a recipient. Its response says what is left.

        Returns:
            Its own maximum of concurrent requests; `None` if it has none.
        """
        limits = self._own.get(recipient, self._default)
        if limits is None:
            return None
        add_response_headers(partial(self._headers, recipient, limits))
        rate = limits.rate
        if rate is not None and (seconds := self._buckets.take(recipient, rate)):
            raise too_many_requests("this recipient", rate, seconds)
        return limits.concurrent_requests

    def counts_offers(self, recipient: str) -> bool:
        """Whether the recipient or its address has quotas of a day."""
        limits = self._own.get(recipient, self._default)
        return self._of_address is not None or (limits is not None and limits.daily)

    def offer(self, recipient: str, address: str | None, files: int, size: int) -> None:
        """Count data files before their URLs are signed or sent again."""
        now, amount = self._wall_clock(), Amount(files, size)
        limits, subjects = self._own.get(recipient, self._default), []
        if limits is not None and limits.daily:
            self._check("this recipient", recipient, limits, amount, now)
            subjects.append(recipient)
        if self._of_address is not None and address is not None:
            subjects.append(address_key(address))
            self._check("your address", subjects[-1], self._of_address, amount, now)
        for subject in subjects:
            self.use.add(subject, day_of(now), amount)

    def _check(
        self, whose: Whose, subject: str, limits: RecipientLimits, more: Amount, now: float
    ) -> None:
        used = self.use.of(subject, day_of(now))
        for what, limit, before, added in (
            ("files", limits.files_per_day, used.files, more.files),
            ("bytes", limits.bytes_per_day, used.bytes, more.bytes),
        ):
            if limit is not None and added and before + added > limit:
                raise too_much_of_day(whose, what, limit, before, added, now)

    def _headers(self, recipient: str, limits: RecipientLimits) -> list[tuple[bytes, bytes]]:
        return rate_limit_headers(self._quotas(recipient, limits))

    def _quotas(self, recipient: str, limits: RecipientLimits) -> Iterator[Quota]:
        if (rate := limits.rate) is not None:
            left, resets = self._buckets.left(recipient, rate)
            yield Quota("requests", rate.burst, rate.window, left, resets)
        if not limits.daily:
            return
        now = self._wall_clock()
        used, resets = self.use.of(recipient, day_of(now)), seconds_left(now)
        for name, limit, amount in (
            ("files", limits.files_per_day, used.files),
            ("bytes", limits.bytes_per_day, used.bytes),
        ):
            if limit is not None:
                yield Quota(name, limit, DAY_SECONDS, max(limit - amount, 0), resets)


def _or_none(limits: RecipientLimits) -> RecipientLimits | None:
    return None if limits == _NO_LIMITS else limits
