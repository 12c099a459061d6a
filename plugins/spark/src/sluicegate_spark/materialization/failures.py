"""The failures of tasks whose copy cannot be made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sluicegate.api import SluicegateError, TaskFailed

# Delta Lake's errors for commits that conflict, as classes of Python or Java, and as conditions.
_RACE: Final = re.compile(
    r"\b(?:Concurrent\w+|MetadataChanged|ProtocolChanged)Exception\b"
    r"|\[DELTA_(?:CONCURRENT_\w+|METADATA_CHANGED|PROTOCOL_CHANGED)\b"
)


def unfit(why: str) -> TaskFailed:
    """Return the failure of a copy whose configuration does not fit its sources. It is final."""
    return TaskFailed(f"the copy cannot be made: {why}", error_code="INVALID_PAYLOAD")


def overtaken() -> TaskFailed:
    """Return the failure of a refresh during which another task changed the copy. It is retryable."""
    return TaskFailed(
        "another task changed the copy at the same time; the next attempt starts from its result",
        error_code="ENGINE_FAILED",
        retryable=True,
    )


@contextmanager
def races() -> Iterator[None]:
    """Raise the same failure wherever Delta Lake finds that another task has changed the copy."""
    try:
        yield
    except SluicegateError:
        raise
    except Exception as error:
        if _RACE.search(f"{type(error).__name__} {error}"):
            raise overtaken() from error
        raise
