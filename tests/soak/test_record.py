"""An answer is right, excused by an outage, or a violation."""

from __future__ import annotations

import time

import pytest
from soak.record import Record, Stopped
from soak.schedule import Fault, Outage, Schedule


def record(at: float = 15) -> Record:
    """A record at a time of a run in which a store fails from second 10 to 20."""
    schedule = Schedule([Outage("store", Fault.ERROR, 10, 20)], recovery=5)
    return Record(schedule, began=time.monotonic() - at)


def test_an_expected_status_is_counted_with_its_duration() -> None:
    made = record()
    made.answered(made.attempt("door", "GET /", ()), 200, (200,))
    assert made.statuses["door"] == {"200": 1}
    assert len(made.seconds["door"]) == 1
    assert made.violated == 0


@pytest.mark.parametrize(
    ("stall", "violations"), [((24.0, 26.0), 0), ((29.0, 40.0), 0), ((1.0, 4.0), 1)]
)
def test_a_stall_of_the_test_itself_excuses_503(stall: tuple[float, float], violations: int) -> None:
    made = record(30)
    for needs in ({"store"}, set[str]()):
        with pytest.raises(Stopped):
            made.answered(made.attempt("door", "GET /", needs), 503, (200,))
    made.stalls.append(stall)  # it is noticed after the answer
    made.settle()
    assert made.violated == violations + 1  # nothing excuses an answer that needs no server


@pytest.mark.parametrize(
    ("at", "needs", "status", "violations"),
    [
        (15, {"store"}, 503, 0),
        (24, {"store"}, 503, 0),
        (26, {"store"}, 503, 1),
        (15, {"catalog"}, 503, 1),
        (15, (), 503, 1),
        (15, {"store"}, 500, 1),
        (15, {"store"}, 502, 1),
        (15, {"store"}, 504, 1),
        (15, {"store"}, 404, 1),
    ],
)
def test_503_is_right_only_while_what_it_needs_fails(
    at: float, needs: set[str], status: int, violations: int
) -> None:
    made = record(at)
    with pytest.raises(Stopped):
        made.answered(made.attempt("door", "GET /", needs), status, (200,), "content")
    made.settle()
    assert made.violated == violations
    assert made.statuses["door"] == {str(status): 1}


def test_a_violation_says_what_was_sent_and_what_was_broken() -> None:
    made = record()
    attempt = made.attempt("door", "GET /shares", {"store"})
    with pytest.raises(Stopped):
        made.failed(attempt, "no answer")
    (violation,) = made.violations
    assert (violation.what, violation.request) == ("no answer", "door: GET /shares")
    assert violation.broken == ("store responds 500 (10 to 20 s)",)


def test_the_time_until_the_last_503_after_an_outage_is_known() -> None:
    made = record(23)
    assert made.excused(made.attempt("door", "GET /", {"store"}))
    assert made.longest_recovery == pytest.approx(3, abs=1)
