"""Converts times between text and epoch milliseconds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_ms() -> int:
    """Return the current time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def ms_of(moment: datetime) -> int:
    """Return epoch milliseconds of a time with an offset, rounded down without float errors."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def parse_time(text: str, *, default: tzinfo | None = None) -> datetime:
    """Parse a time in ISO 8601 and return it in UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        if default is None:
            raise ValueError("a time without an offset")
        moment = moment.replace(tzinfo=default)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time outside of the years 1 to 9999") from None


def iso_utc(moment: int) -> str:
    """Format epoch milliseconds as ISO 8601 in UTC: `2026-11-12T00:12:29.000Z`.

    Numbers that are outside the years 1 to 9999, which files of tables can contain, stay numbers.
    """
    try:
        spelled = (_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec="milliseconds")
    except OverflowError:
        return f"{moment} ms after 1970"
    return spelled.replace("+00:00", "Z")
