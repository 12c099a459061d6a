"""Returns domain errors from Spark's executors as rows. Spark would repeat and rename exceptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import orjson
import pyarrow as pa

from sluicegate.api import (
    SluicegateError,
    StorageError,
    TableUnreadable,
    TaskFailed,
    UnsupportedOperation,
)

PROBLEM: Final = "problem"
"""The column of each frame that contains an error, and then nothing else."""
_KINDS: Mapping[str, type[SluicegateError]] = {
    each.__name__: each for each in (StorageError, TableUnreadable, UnsupportedOperation)
}


def caught(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield batches of a schema. A domain error is the last row.

    Args:
        batches: Reads a table.
        schema: Contains the column `PROBLEM`.
    """
    try:
        yield from batches
    except SluicegateError as error:
        yield pa.RecordBatch.from_pylist([{PROBLEM: _text(error)}], schema)


def raise_problem(text: str | None) -> None:
    """Raise the error of a row again.

    Args:
        text: The value of the column `PROBLEM`.

    Raises:
        StorageError, TableUnreadable, UnsupportedOperation, TaskFailed: It is one.
    """
    if text is None:
        return
    problem = orjson.loads(text)
    if "error_code" in problem:
        raise TaskFailed(
            problem["message"],
            error_code=problem["error_code"],
            retryable=problem["retryable"],
            detail=problem["detail"],
        )
    raise _KINDS[problem["kind"]](problem["message"], detail=problem["detail"])


def _text(error: SluicegateError) -> str:
    problem: dict[str, object] = {"message": error.message, "detail": error.detail}
    if isinstance(error, TaskFailed):
        problem |= {"error_code": error.error_code, "retryable": error.retryable}
    elif isinstance(error, StorageError):
        problem["kind"] = "StorageError"
    elif isinstance(error, TableUnreadable):
        problem["kind"] = "TableUnreadable"
    else:  # about the table, too, so that repeating the task doesn't help
        problem["kind"] = "UnsupportedOperation"
    return orjson.dumps(problem).decode()
