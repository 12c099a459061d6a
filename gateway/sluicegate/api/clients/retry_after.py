"""The header `Retry-After` of a response, as seconds (RFC 9110, section 10.2.3)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

_LONGEST_DATE: Final = 64  # characters; the longest form of RFC 9110, section 5.6.7 has 33
_YEAR: Final = 365 * 86_400


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Seconds until the server accepts the next request, at most those of a year.

    A date is compared with the response's `Date`, because clocks differ, or with this machine's clock.

    Args:
        headers: Response headers, with case-insensitive names.

    Returns:
        `None` if the header is missing or invalid.
    """
    value = headers.get("Retry-After", "")
    if value.isascii() and value.isdecimal():
        return min(int(value), _YEAR) if len(value) < 10 else _YEAR
    until = _seconds(value)
    if until is None:
        return None
    sent = _seconds(headers.get("Date", ""))
    return min(max(math.ceil(until - (time.time() if sent is None else sent)), 0), _YEAR)


def _seconds(date: str) -> float | None:
    """Seconds since the epoch of an HTTP date; `None` if it is invalid."""
    if len(date) > _LONGEST_DATE:
        return None
    try:
        parsed = parsedate_to_datetime(date)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
