"""Deletions per second are limited, whatever number of threads requests them."""

from __future__ import annotations

import pytest

from sluicegate_spark.purge import pace
from sluicegate_spark.purge.pace import Pace


class Clock:
    """Replaces `time`: sleeping takes no time, and moves the clock."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    return clock


def test_requests_wait_until_their_keys_are_allowed(clock: Clock) -> None:
    limited = Pace(250)
    for _ in range(9):
        limited.wait(250)
    assert clock.now == pytest.approx(108)


def test_time_without_requests_is_not_saved(clock: Clock) -> None:
    limited = Pace(100)
    limited.wait(100)
    clock.now += 60
    limited.wait(100)
    limited.wait(100)
    assert clock.now == pytest.approx(161)


def test_without_a_limit_nothing_waits(clock: Clock) -> None:
    free = Pace(None)
    free.wait(10**9)
    assert (clock.now, free.most(1_000)) == (100, 1_000)


@pytest.mark.parametrize(("per_second", "most"), [(0.2, 1), (7, 7), (999.9, 999), (5_000, 1_000)])
def test_a_request_has_the_keys_of_one_second_at_most(per_second: float, most: int) -> None:
    assert Pace(per_second).most(1_000) == most
