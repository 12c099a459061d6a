"""Returns errors of executors as values: Spark would repeat the task, and report only the text."""

from __future__ import annotations

from typing import Any, Final

import orjson

from sluicegate.api import (
    ObjectMissing,
    SluicegateError,
    StorageError,
    TableUnreadable,
    TaskFailed,
    Unavailable,
    UnsupportedOperation,
)

EXPECTED: Final = (TableUnreadable, UnsupportedOperation, StorageError, ObjectMissing, TaskFailed)


def failure_of(error: SluicegateError) -> str:
    """Return the text of an error.

    Errors of other types than `EXPECTED` become `UnsupportedOperation`: they are about the table, too,
    so that repeating the task doesn't help.
    """
    values: dict[str, Any] = {"message": error.message, "detail": error.detail}
    if isinstance(error, TaskFailed):
        values |= {"error_code": error.error_code, "retryable": error.retryable}
    kind = next((each for each in EXPECTED if isinstance(error, each)), UnsupportedOperation)
    return orjson.dumps([kind.__name__, values]).decode()


def raise_failure(text: str | None) -> None:
    """Raise the error that an executor returned, if any."""
    if text is None:
        return
    kind, values = orjson.loads(text)
    if kind == ObjectMissing.__name__:
        # A listed file no longer exists. A later attempt lists what is there by then.
        raise Unavailable(f"{values['message']}; try again", detail=values["detail"])
    raise next(each for each in EXPECTED if each.__name__ == kind)(values.pop("message"), **values)


def is_damage(text: str) -> bool:
    """Return whether the text of an error says that a file is damaged or missing."""
    return orjson.loads(text)[0] in (TableUnreadable.__name__, ObjectMissing.__name__)
