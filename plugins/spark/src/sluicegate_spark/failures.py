"""Converts errors of Spark to failures of tasks. Errors of the cluster are retryable.

An error is final only if the statement is invalid: the same statement would fail again.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from sluicegate.api import TaskFailed, without_queries

_LENGTH = 500
_REASON_LENGTH = 300
# The statement can't succeed, for example because a table doesn't exist or an option is unknown.
_WRONG = frozenset({"AnalysisException", "ParseException", "IllegalArgumentException"})
# py4j, before Java's own message, and gRPC, before the status and its details.
_PREAMBLES = ("An error occurred while calling", "<_")
_DID_NOT_START = "JAVA_GATEWAY_EXITED"
_NOT_STARTED = "Spark did not start; the worker's log contains Java's output"
_ENGINE = ("pyspark.", "py4j.", "grpc")
# Iceberg raises this exception for impossible operations, and from `_COMMIT` for conflicting commits.
_JAVA = re.compile(r"^: ([\w.$]+)", re.MULTILINE)
_VALIDATION = "org.apache.iceberg.exceptions.ValidationException"
_STATE_UNKNOWN = "org.apache.iceberg.exceptions.CommitStateUnknownException"
_COMMIT = "org.apache.iceberg.SnapshotProducer"


def failed_on_spark(error: Exception, secrets: Collection[str] = ()) -> TaskFailed | None:
    """Return the failure of a task for an error of Spark, or `None` for any other error.

    Args:
        error: The error that the task's function raised.
        secrets: Values that the failure must not contain.
    """
    kind = type(error)
    if not kind.__module__.startswith(_ENGINE) and not isinstance(error, ConnectionError):
        return None
    cause = _first_line(error, secrets)
    if _is_wrong(error):
        return TaskFailed(
            f"Spark rejected the task's statement: {cause}", error_code="ENGINE_FAILED", detail=cause
        )
    if _STATE_UNKNOWN in str(error):
        return TaskFailed(
            "the catalog did not confirm the commit of the task, and it is unknown whether the commit "
            "was applied; the next attempt reads the table first",
            error_code="COMMIT_STATE_UNKNOWN",
            retryable=True,
            detail=cause,
        )
    failed = f"Spark failed while running the task ({kind.__name__})"
    return TaskFailed(
        _NOT_STARTED if _DID_NOT_START in cause else failed,
        error_code="ENGINE_FAILED",
        retryable=True,
        detail=cause,
    )


def _is_wrong(error: Exception) -> bool:
    if type(error).__name__ in _WRONG:
        return True
    text = str(error)
    thrown = _JAVA.search(text)
    return thrown is not None and thrown[1] == _VALIDATION and _COMMIT not in text


def reason_of(error: Exception) -> str:
    """Return the type and first line of an error, without URL queries: these can be signatures."""
    return f"{type(error).__name__}: {_first_line(error)}"[:_REASON_LENGTH]


def _first_line(error: Exception, secrets: Collection[str] = ()) -> str:
    """Return the first informative line, without secrets and without queries of URLs."""
    lines = (line.strip().removeprefix(": ") for line in str(error).splitlines())
    causes = [line for line in lines if line and not line.startswith(_PREAMBLES)]
    details = (line for line in causes if line.startswith("details = "))
    line = next(details, causes[0] if causes else "")
    for secret in secrets:
        line = line.replace(secret, "…")
    return without_queries(line)[:_LENGTH]
