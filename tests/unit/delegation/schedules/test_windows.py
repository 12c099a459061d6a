"""Windows in which tasks can start."""

from __future__ import annotations

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate._util.clock import ms_of
from sluicegate.config.sections.schedules import parse_window
from sluicegate.delegation.schedules.schedule import StartWindow

CASES = [
    # Within, before, and after a window of one day.
    ("02:00-04:00", "UTC", "2026-11-26T03:00Z", "2026-11-26T02:00Z", "2026-11-26T04:00Z"),
    ("02:00-04:00", "UTC", "2026-11-26T01:00Z", "2026-11-26T02:00Z", "2026-11-26T04:00Z"),
    ("02:00-04:00", "UTC", "2026-11-26T04:00Z", "2026-11-27T02:00Z", "2026-11-27T04:00Z"),
    # Across midnight, in the zone of the window.
    ("22:00-04:00", "UTC", "2026-11-26T01:00Z", "2026-11-25T22:00Z", "2026-11-26T04:00Z"),
    ("22:00-04:00", "UTC", "2026-11-26T23:00Z", "2026-11-26T22:00Z", "2026-11-27T04:00Z"),
    ("22:00-04:00", "America/New_York", "2026-11-26T05:00Z", "2026-11-26T03:00Z", "2026-11-26T09:00Z"),
    # The night in which the clock goes forward is an hour shorter, and the other one longer.
    ("01:00-05:00", "Europe/Berlin", "2026-03-29T00:30Z", "2026-03-29T00:00Z", "2026-03-29T03:00Z"),
    ("01:00-05:00", "Europe/Berlin", "2026-10-25T00:30Z", "2026-10-24T23:00Z", "2026-10-25T04:00Z"),
    # Begins and ends within the hour that does not exist.
    ("02:15-02:45", "Europe/Berlin", "2026-03-29T00:30Z", "2026-03-29T01:15Z", "2026-03-29T01:45Z"),
]


@pytest.mark.parametrize(("text", "zone", "at", "opens", "closes"), CASES)
def test_the_window_of_a_time(text: str, zone: str, at: str, opens: str, closes: str) -> None:
    window = StartWindow(*parse_window(text), ZoneInfo(zone))
    assert window.at_or_after(ms(at)) == (ms(opens), ms(closes))


@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)),
    st.tuples(st.times(), st.times()).filter(lambda ends: ends[0] != ends[1]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
)
def test_each_time_has_a_window_that_has_not_closed(
    at: datetime, ends: tuple[time, time], zone: str
) -> None:
    moment = ms_of(at.replace(tzinfo=UTC))
    window = StartWindow(*ends, ZoneInfo(zone))
    opens, closes = window.at_or_after(moment)
    assert opens < closes
    assert moment < closes
    assert opens - moment < 2 * 86_400_000


def ms(text: str) -> int:
    return ms_of(datetime.fromisoformat(text).astimezone(UTC))
