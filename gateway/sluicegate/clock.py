"""Epoch milliseconds: now, and as text."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_ms() -> int:
    """Now, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def iso_utc(moment: int) -> str:
    """ISO 8601 in UTC of epoch milliseconds: `2026-11-12T00:12:29.000Z`."""
    spelled = (_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec="milliseconds")
    return spelled.replace("+00:00", "Z")
