"""Types of values in the properties of tasks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import BeforeValidator, StringConstraints, TypeAdapter

from sluicegate.api import Duration

_DURATION: Final = TypeAdapter[int](Duration)


def _moment(text: object) -> object:
    """Parse a point in time, or a duration before now."""
    if not isinstance(text, str):
        return text
    written = text.strip()
    if written[:1].isdecimal() and written[-1:] in "smhdw":
        seconds = _DURATION.validate_python(written)
        try:
            return datetime.now(UTC) - timedelta(seconds=seconds)
        except OverflowError:
            raise ValueError("no time is that long ago") from None
    try:
        found = datetime.fromisoformat(written)
        aware = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        return aware.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(
            "expected a time like 2026-11-01T00:00:00Z, or how long ago it was, like 5d"
        ) from None


Moment = Annotated[datetime, BeforeValidator(_moment)]
"""A time in UTC. Accepts ISO 8601 (UTC if there is no zone) or a duration before now."""

Text = Annotated[str, StringConstraints(min_length=1)]
