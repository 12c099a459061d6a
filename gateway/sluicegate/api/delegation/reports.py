"""Validates results, progress and stages of executors before they are stored.

Executors are plugins, whose reports can be of any type and size. Without validation, a value that the
database rejects would be noticed only when the outcome of an attempt is recorded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final, Never, TypeVar

from sluicegate.api.delegation.tasks import TaskFailed, TaskProgress, TaskResult

INVALID_RESULT: Final = "INVALID_RESULT"
UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
"""Characters that can't be stored: PostgreSQL rejects null characters, and UTF-8 has no surrogates."""

# Executors report a sentence and some figures. These limits are far above that, and harmless for a
# row.
_LONGEST_TEXT = 10_000
_MOST_FIGURES = 1_000
_DEEPEST = 8
_MOST_STAGES = 10_000
_LARGEST = 2**63 - 1

T = TypeVar("T")


def checked_result(reported: object) -> TaskResult:
    """Return the result of an attempt, with plain values that every database can store.

    Args:
        reported: The executor's return value.

    Raises:
        TaskFailed: It is not valid (`INVALID_RESULT`).
    """
    return _checked(lambda: _result(reported))


def checked_progress(reported: object) -> TaskProgress:
    """Return progress with plain values that every database can store.

    Raises:
        TaskFailed: It is not valid (`INVALID_RESULT`).
    """
    return _checked(lambda: _progress(reported))


def checked_stages(finished: Collection[str], reported: object) -> list[str]:
    """Return all finished stages, including a new one.

    Raises:
        TaskFailed: Its name is not valid, or there are too many (`INVALID_RESULT`).
    """
    if len(finished) >= _MOST_STAGES:
        _refuse(f"more than {_MOST_STAGES} stages are finished")
    return [*finished, _checked(lambda: _text("a stage", reported))]


def _checked(check: Callable[[], T]) -> T:
    try:
        return check()
    except TaskFailed:
        raise
    except Exception as error:  # properties and iterators of plugin classes can raise anything
        _refuse(f"it cannot be read: {type(error).__name__[:100]}")


def _result(reported: object) -> TaskResult:
    if not isinstance(reported, TaskResult):
        _refuse(f"it is of type {type(reported).__name__[:100]}, not TaskResult")
    if not isinstance(reported.further, Mapping):
        _refuse("further is not a mapping")
    budget = iter(range(_MOST_FIGURES))
    return TaskResult(
        _text("summary", reported.summary),
        _count("files_deleted", reported.files_deleted),
        _count("bytes_deleted", reported.bytes_deleted),
        _object(reported.further, budget, _DEEPEST),
    )


def _progress(reported: object) -> TaskProgress:
    if not isinstance(reported, TaskProgress):
        _refuse(f"progress is of type {type(reported).__name__[:100]}, not TaskProgress")
    return TaskProgress(
        _text("the stage of the progress", reported.stage),
        _count("files_done", reported.files_done) or 0,
        _count("files_total", reported.files_total),
        _count("bytes_done", reported.bytes_done) or 0,
    )


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        _refuse(f"{name} is not a text")
    if len(value) > _LONGEST_TEXT:
        _refuse(f"{name} has more than {_LONGEST_TEXT} characters")
    if UNSTORABLE.search(value):
        _refuse(f"{name} has a character that cannot be stored")
    return str.__str__(value)  # enumeration members would print their name


def _count(name: str, value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        _refuse(f"{name} is not an integer")
    if not 0 <= value <= _LARGEST:
        _refuse(f"{name} is not between 0 and 2^63 - 1")
    return int(value)


def _object(given: Mapping[Any, Any], budget: Iterator[int], depth: int) -> dict[str, Any]:
    # Read one more than the maximum, because a mapping might never end.
    items = islice(given.items(), _MOST_FIGURES + 1)
    return {_text("a name in further", name): _value(each, budget, depth - 1) for name, each in items}


def _value(value: object, budget: Iterator[int], depth: int) -> Any:
    """Copy a JSON value. `budget` stops circular and large values."""
    if next(budget, None) is None:
        _refuse(f"further has more than {_MOST_FIGURES} values")
    if depth < 0:
        _refuse(f"further is nested more than {_DEEPEST} levels deep")
    match value:
        case None | bool():
            return value
        case str():
            return _text("a value in further", value)
        case int() if abs(value) <= _LARGEST:
            return int(value)
        case float() if math.isfinite(value):
            return float(value)
        case Mapping():
            return _object(value, budget, depth)
        case list() | tuple():
            return [_value(each, budget, depth - 1) for each in value]
    _refuse("further has a value that JSON or the database cannot hold")


def _refuse(why: str) -> Never:
    raise TaskFailed(f"the executor's report is not valid: {why}", error_code=INVALID_RESULT)
