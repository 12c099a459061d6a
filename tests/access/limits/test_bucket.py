"""Token buckets never give more than their rate, whatever the clock does, and always give it."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from sluicegate.access.limits.bucket import Rate, TokenBuckets

RATES = st.builds(Rate, st.integers(1, 10_000), st.integers(1, 1_000))
PAUSES = st.lists(st.floats(0, 120, allow_nan=False), max_size=80)


@dataclass
class Seconds:
    """Monotonic seconds."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@given(RATES, PAUSES)
def test_no_window_has_more_requests_than_the_burst_and_the_rate(
    rate: Rate, pauses: list[float]
) -> None:
    clock = Seconds()
    buckets: TokenBuckets[str] = TokenBuckets(10, clock)
    accepted: list[float] = []
    for pause in pauses:
        clock.now += pause
        accepted += [clock.now for _ in range(3) if not buckets.take("acme", rate)]
    for first, since in enumerate(accepted):
        for last, until in enumerate(accepted[first:], first):
            allowed = rate.burst + (until - since) * rate.per_second
            assert last - first + 1 <= allowed + 1e-6


@given(RATES, st.integers(0, 2_000))
def test_a_request_passes_after_its_retry_time(rate: Rate, before: int) -> None:
    clock = Seconds()
    buckets: TokenBuckets[str] = TokenBuckets(10, clock)
    for _ in range(before):
        buckets.take("acme", rate)
    clock.now += buckets.take("acme", rate) + 1e-6
    assert buckets.take("acme", rate) <= (0 if before >= rate.burst else 60 / rate.per_minute)


@given(RATES, st.lists(st.floats(-1e6, 1e6, allow_nan=False), max_size=40))
def test_a_clock_that_goes_back_gives_no_tokens(rate: Rate, steps: list[float]) -> None:
    clock = Seconds(0.0)
    buckets: TokenBuckets[str] = TokenBuckets(10, clock)
    accepted, latest = int(not buckets.take("acme", rate)), 0.0
    for step in steps:
        clock.now += step
        latest = max(latest, clock.now)
        accepted += not buckets.take("acme", rate)
    assert accepted <= rate.burst + latest * rate.per_second + 1e-3


@given(RATES, st.integers(0, 1_100))
def test_what_is_left_is_what_can_be_taken(rate: Rate, taken: int) -> None:
    buckets: TokenBuckets[str] = TokenBuckets(10, Seconds())
    for _ in range(taken):
        buckets.take("acme", rate)
    left, resets = buckets.left("acme", rate)
    assert left == max(rate.burst - taken, 0)
    assert 0 <= resets <= rate.window
    assert not any(buckets.take("acme", rate) for _ in range(left))
    assert buckets.take("acme", rate) > 0


def test_a_lowered_limit_applies_at_once() -> None:
    buckets: TokenBuckets[str] = TokenBuckets(10, Seconds())
    buckets.take("acme", Rate(600, 600))
    assert buckets.left("acme", Rate(60, 2))[0] == 2


def test_each_sender_has_its_own_bucket() -> None:
    buckets: TokenBuckets[str] = TokenBuckets(10, Seconds())
    rate = Rate(1, 1)
    assert not buckets.take("acme", rate)
    assert buckets.take("acme", rate) == 60
    assert not buckets.take("rival", rate)


def test_only_the_last_senders_are_kept() -> None:
    buckets: TokenBuckets[int] = TokenBuckets(100, Seconds())
    for sender in range(1_000):
        buckets.take(sender, Rate(1, 1))
    assert len(buckets) == 100
