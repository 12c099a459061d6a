"""Times as text and in epoch milliseconds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_ms() -> int:
    """Now, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def ms_of(moment: datetime) -> int:
    """Epoch milliseconds of a time with an offset, rounded down: as a float, some would be one less."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def parse_time(text: str, *, default: tzinfo | None = None) -> datetime:
    """A time in ISO 8601, in UTC.

    Args:
        text: From a request, an option or a file.
        default: The zone of a time without an offset.

    Raises:
        ValueError: It is no time, it has no offset and there is no default, or in UTC it lies outside
            of the years 1 to 9999.
    """
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
    """ISO 8601 in UTC of epoch milliseconds: `2026-11-12T00:12:29.000Z`.

    Numbers come from tables' files too: those outside of the years 1 to 9999 stay numbers.
    """
    try:
        spelled = (_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec="milliseconds")
    except OverflowError:
        return f"{moment} ms after 1970"
    return spelled.replace("+00:00", "Z")
