"""Outages are drawn by a seed, and known afterwards."""

from __future__ import annotations

import pytest
from soak.schedule import Fault, Outage, Pace, Schedule

OUTAGE = Outage("store", Fault.HANG, 10, 20)


def test_a_seed_determines_the_outages_and_each_target_has_its_own() -> None:
    def drawn(seed: int, *targets: str) -> list[Outage]:
        schedule = Schedule.random(seed, targets, 3600, pace=Pace(), recovery=5)
        return [each for each in schedule.outages if each.target == "a"]

    assert drawn(1, "a", "b") == drawn(1, "a", "c") != drawn(2, "a")
    assert all(each.end <= 3600 for each in drawn(1, "a"))
    assert {each.fault for each in drawn(1, "a")} == set(Fault)


def test_a_server_fails_during_its_outages_only() -> None:
    schedule = Schedule([OUTAGE], recovery=5)
    assert [schedule.fault("store", now) for now in (9, 10, 20, 21)] == [
        None,
        Fault.HANG,
        Fault.HANG,
        None,
    ]
    assert schedule.fault("catalog", 15) is None


@pytest.mark.parametrize(
    ("since", "until", "excused"),
    [(0, 9, False), (0, 10, True), (12, 13, True), (25, 30, True), (25.1, 30, False)],
)
def test_a_request_is_excused_if_an_outage_touches_it_or_ended_shortly_before(
    since: float, until: float, excused: bool
) -> None:
    schedule = Schedule([OUTAGE], recovery=5)
    assert bool(schedule.broken({"store", "other"}, since, until)) is excused
    assert schedule.broken({"other"}, since, until) == []
