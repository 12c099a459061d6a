"""Parses dates and timestamps into ranges of days and of microseconds since 1970."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

Span = tuple[int, int]

DAY = 86_400_000_000
# Maximum offset from UTC in java.time and therefore in Spark: how far a timestamp without a zone can be
# from the intended time.
ANY_ZONE = 18 * 3_600_000_000
BELOW_A_MILLISECOND = 999
_MORE_THAN_MICROSECONDS = re.compile(r"\.\d{6}\d*[1-9]")
_LESS_THAN_MILLISECONDS = re.compile(r"\.\d{4}")

_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = _EPOCH.toordinal()
FOUR_DIGIT_YEARS = range(date.min.toordinal() - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY + 1)
_MICROSECOND = timedelta(microseconds=1)


def days(text: str) -> int | None:
    """Days since 1970. `None` if the text is not a date of the years 1 to 9999."""
    try:
        return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


def moment(text: str) -> tuple[int, bool] | None:
    """Microseconds since 1970, and whether the text has a zone. Without one, UTC is assumed."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    offset = found.utcoffset()
    local = (found.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    return (local, False) if offset is None else (local - offset // _MICROSECOND, True)


def instant(text: str) -> Span | None:
    """The possible range of a timestamp. Without a zone, it spans one and a half days."""
    return _span(text, exact_with_zone=True)


def wall_clock(text: str) -> Span | None:
    """The range for a timestamp without a zone. Text with a zone determines it only roughly."""
    return _span(text, exact_with_zone=False)


def _span(text: str, *, exact_with_zone: bool) -> Span | None:
    found = moment(text)
    if found is None:
        return None
    micros, with_zone = found
    margin = 0 if with_zone is exact_with_zone else ANY_ZONE
    between = bool(_MORE_THAN_MICROSECONDS.search(text))
    return micros - margin, micros + between + margin


def may_be_cut(text: str) -> bool:
    """Whether a timestamp might have been truncated to milliseconds."""
    return _LESS_THAN_MILLISECONDS.search(text) is None


def before_it_was_cut(span: Span | None) -> Span | None:
    """The possible range of a timestamp before it was truncated to milliseconds, toward 1970."""
    if span is None:
        return None
    low, high = span
    return (
        low - BELOW_A_MILLISECOND if low <= 0 else low,
        high + BELOW_A_MILLISECOND if high >= 0 else high,
    )
