"""Conditional requests and ranges (RFC 9110, sections 13 and 14), as pure functions over headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from enum import Enum

_SINGLE_RANGE = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.IGNORECASE)


class Outcome(Enum):
    """The result of evaluating a request's preconditions."""

    PROCEED = 200
    NOT_MODIFIED = 304
    FAILED = 412


class UnsatisfiableRange(Exception):
    """The requested range starts after the end of the object."""


@dataclass(frozen=True, slots=True)
class Validators:
    """Identifies one state of an object: its entity tag (quoted), and its modification time."""

    etag: str | None
    modified: datetime | None = None

    @property
    def last_modified(self) -> str | None:
        """The value of the `Last-Modified` header. `None` if the time is unknown."""
        seconds = self._seconds
        return None if seconds is None else format_datetime(seconds, usegmt=True)

    @property
    def _seconds(self) -> datetime | None:
        modified = self.modified
        return None if modified is None else modified.astimezone(UTC).replace(microsecond=0)

    def _listed(self, tags: str, *, weak: bool) -> bool:
        if tags.strip() == "*":
            return True
        listed = {tag.strip() for tag in tags.split(",")}
        if self.etag is None:
            return False
        if not weak:
            return not self.etag.startswith("W/") and self.etag in listed
        return self.etag.removeprefix("W/") in {tag.removeprefix("W/") for tag in listed}

    def _changed_after(self, date: str) -> bool | None:
        """Whether the object changed after an HTTP date. `None` if the date is invalid or unknown."""
        if self._seconds is None:
            return None
        try:
            return self._seconds > _http_date(date)
        except (ValueError, OverflowError):
            return None

    def check(self, headers: Mapping[str, str]) -> Outcome:
        """Evaluate the preconditions in their order of precedence (RFC 9110, 13.2.2)."""
        if (tags := headers.get("if-match")) is not None:
            if not self._listed(tags, weak=False):
                return Outcome.FAILED
        elif (date := headers.get("if-unmodified-since")) is not None and self._changed_after(date):
            return Outcome.FAILED
        if (tags := headers.get("if-none-match")) is not None:
            return Outcome.NOT_MODIFIED if self._listed(tags, weak=True) else Outcome.PROCEED
        if (date := headers.get("if-modified-since")) is not None and self._changed_after(
            date
        ) is False:
            return Outcome.NOT_MODIFIED
        return Outcome.PROCEED

    def allow_range(self, headers: Mapping[str, str]) -> bool:
        """Whether `If-Range` allows the `Range` header to apply (RFC 9110, 13.1.5)."""
        validator = headers.get("if-range")
        if validator is None:
            return True
        if validator.endswith('"'):
            return self._listed(validator, weak=False)
        return validator == self.last_modified


def requested_range(header: str | None, size: int) -> tuple[int, int] | None:
    """The bytes that a `Range` header requests, as start and exclusive end (RFC 9110, 14.1.2).

    Returns:
        `None` for the entire object: no header, another unit, several ranges, or an invalid range, all
            of which a server can ignore.
    """
    match = _SINGLE_RANGE.fullmatch(header or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        return _suffix(int(last), size)
    start, end = int(first), int(last) + 1 if last else size
    if last and end <= start:
        return None
    if start >= size:
        raise UnsatisfiableRange
    return start, min(end, size)


def _suffix(length: int, size: int) -> tuple[int, int] | None:
    if length == 0:
        raise UnsatisfiableRange
    # An empty object satisfies every suffix, but a Content-Range cannot describe zero bytes.
    return (max(size - length, 0), size) if size else None


def _http_date(text: str) -> datetime:
    date = parsedate_to_datetime(text)
    return date if date.tzinfo else date.replace(tzinfo=UTC)
