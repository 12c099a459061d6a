"""Times of cron expressions, compared with a search through all minutes of a few days."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.process.random_cases import times

from sluicegate._util.clock import ms_of
from sluicegate.delegation.schedules.schedule import CronTimes

MINUTE = timedelta(minutes=1)
# Days on which clocks change, also in zones whose offset has half an hour, and one without a change.
DAYS = [
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"),
    ("America/St_Johns", "2026-03-08"),
    ("Australia/Adelaide", "2026-04-05"),
    ("UTC", "2026-03-29"),
]


class Field(NamedTuple):
    text: str
    values: frozenset[int]


def every(step: int, size: int) -> Field:
    return Field("*" if step == 1 else f"*/{step}", frozenset(range(0, size, step)))


def fields(size: int, steps: tuple[int, ...]) -> st.SearchStrategy[Field]:
    """A list, a range, or a step of one field."""
    number = st.integers(0, size - 1)
    lists = st.lists(number, min_size=1, max_size=3).map(
        lambda found: Field(",".join(map(str, found)), frozenset(found))
    )
    ranges = st.tuples(number, number).map(
        lambda ends: Field(f"{min(ends)}-{max(ends)}", frozenset(range(min(ends), max(ends) + 1)))
    )
    return st.one_of(lists, ranges, st.sampled_from(steps).map(lambda step: every(step, size)))


def expected(minute: Field, hour: Field, zone: ZoneInfo, begin: datetime, end: datetime) -> list[int]:
    """When a schedule fires, found without a cron library."""

    def matches(local: datetime) -> bool:
        return local.minute in minute.values and local.hour in hour.values

    moments = list(_minutes(begin, end))
    if minute.text.startswith("*") or hour.text.startswith("*"):
        return [ms_of(each) for each in moments if matches(each.astimezone(zone))]
    # Of two equal times, the first one counts.
    first: dict[datetime, datetime] = {}
    for each in moments:
        first.setdefault(each.astimezone(zone).replace(tzinfo=None), each)
    found = set()
    for wall in _minutes(min(first), max(first) + MINUTE):
        if matches(wall):
            while wall not in first:  # the first moment after a gap
                wall += MINUTE
            found.add(first[wall])
    return [ms_of(each) for each in sorted(found)]


def _minutes(begin: datetime, end: datetime) -> Iterator[datetime]:
    while begin < end:
        yield begin
        begin += MINUTE


@settings(max_examples=60 * times(), deadline=None)
@given(st.sampled_from(DAYS), fields(60, (1, 7, 15)), fields(24, (1, 2, 5)))
@example(DAYS[0], Field("30", frozenset({30})), Field("2", frozenset({2})))
@example(DAYS[1], Field("30", frozenset({30})), Field("2", frozenset({2})))
@example(DAYS[1], every(15, 60), Field("2", frozenset({2})))
def test_times_around_changes_of_the_clock_are_those_of_a_search(
    day: tuple[str, str], minute: Field, hour: Field
) -> None:
    zone = ZoneInfo(day[0])
    noon = datetime.fromisoformat(f"{day[1]}T12:00:00+00:00")
    begin, end = noon - timedelta(hours=30), noon + timedelta(hours=24)
    cron = CronTimes(f"{minute.text} {hour.text} * * *", zone)
    found = []
    for each in cron.after(ms_of(begin - MINUTE)):
        if each >= ms_of(end):
            break
        found.append(each)
    assert found == expected(minute, hour, zone, begin, end)


@pytest.mark.parametrize(
    ("expression", "zone", "after", "at"),
    [
        # 02:30 does not exist on this day: it fires when the clock shows 03:00.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "2026-03-29T01:00Z"),
        # 02:30 occurs twice: the first one counts, also for a start between the two.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", "2026-10-25T00:30Z"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10Z", "2026-10-26T01:30Z"),
        ("0 3 * * 1", "UTC", "2026-11-26T05:00Z", "2026-11-30T03:00Z"),
        ("0 0 31 * *", "UTC", "2026-11-26T05:00Z", "2026-12-31T00:00Z"),
        ("0 0 29 2 *", "UTC", "2026-11-26T05:00Z", "2028-02-29T00:00Z"),
        ("0 12 l * *", "UTC", "2026-11-26T05:00Z", "2026-11-30T12:00Z"),
    ],
)
def test_the_following_time(expression: str, zone: str, after: str, at: str) -> None:
    cron = CronTimes(expression, ZoneInfo(zone))
    assert cron.following(ms(after)) == ms(at)


def test_the_time_itself_does_not_follow_it() -> None:
    cron = CronTimes("0 3 * * *", ZoneInfo("UTC"))
    assert cron.following(ms("2026-11-26T03:00Z")) == ms("2026-11-27T03:00Z")
    assert cron.following(ms("2026-11-26T03:00Z") - 1) == ms("2026-11-26T03:00Z")


def test_of_several_times_only_the_latest_counts() -> None:
    cron = CronTimes("*/10 * * * *", ZoneInfo("UTC"))
    begin = ms("2026-11-26T03:00Z")
    assert cron.latest(begin, ms("2026-11-26T03:34:59Z")) == ms("2026-11-26T03:30Z")
    assert cron.latest(begin, ms("2026-11-26T03:30Z")) == ms("2026-11-26T03:30Z")
    assert cron.latest(begin, ms("2026-11-26T03:09:59Z")) is None


def ms(text: str) -> int:
    return ms_of(datetime.fromisoformat(text).astimezone(UTC))
