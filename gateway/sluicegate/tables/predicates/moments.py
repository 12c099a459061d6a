"""Dates and timestamps as text, as spans of days and of microseconds since 1970."""

from __future__ import annotations

from datetime import date, datetime, timedelta

Span = tuple[int, int]

DAY = 86_400_000_000
# As far as clocks are from UTC at most, in java.time and so in Spark: what a moment without a zone
# can be away from the moment it means.
ANY_ZONE = 18 * 3_600_000_000
BELOW_A_MILLISECOND = 999

_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = _EPOCH.toordinal()
FOUR_DIGIT_YEARS = range(date.min.toordinal() - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY + 1)
_MICROSECOND = timedelta(microseconds=1)


def days(text: str) -> int | None:
    """Days since 1970; `None` for text that is no date of the years 1 to 9999."""
    try:
        return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


def moment(text: str) -> tuple[int, bool] | None:
    """Microseconds since 1970, and whether the text names a zone; without one they are as in UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    offset = found.utcoffset()
    local = (found.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    return (local, False) if offset is None else (local - offset // _MICROSECOND, True)


def instant(text: str) -> Span | None:
    """When a timestamp can be; without a zone it is somewhere within a day and a half."""
    return _span(text, exact_with_zone=True)


def wall_clock(text: str) -> Span | None:
    """What a clock without a zone can show; text with a zone says that only roughly."""
    return _span(text, exact_with_zone=False)


def _span(text: str, *, exact_with_zone: bool) -> Span | None:
    found = moment(text)
    if found is None:
        return None
    micros, with_zone = found
    margin = 0 if with_zone is exact_with_zone else ANY_ZONE
    return micros - margin, micros + margin
