"""Epoch milliseconds: now, and as text."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_ms() -> int:
    """Now, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def ms_of(moment: datetime) -> int:
    """Epoch milliseconds of a time with an offset, rounded down: as a float, some would be one less."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def iso_utc(moment: int) -> str:
    """ISO 8601 in UTC of epoch milliseconds: `2026-11-12T00:12:29.000Z`."""
    spelled = (_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec="milliseconds")
    return spelled.replace("+00:00", "Z")
