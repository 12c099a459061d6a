"""What a failure means for a task: the cluster's is tried again, a wrong statement is not."""

from __future__ import annotations

import re
from collections.abc import Collection

from sluicegate.api import TaskFailed, without_queries

_LENGTH = 500
_REASON_LENGTH = 300
# The statement cannot succeed as it is: a table that is none, an option that is not known.
_WRONG = frozenset({"AnalysisException", "ParseException", "IllegalArgumentException"})
_PREAMBLE = "An error occurred while calling"  # py4j, before Java's own words
_DID_NOT_START = "JAVA_GATEWAY_EXITED"
_NOT_STARTED = "Spark did not start; what Java printed is in the worker's log"
_ENGINE = ("pyspark.", "py4j.", "grpc")
# Iceberg says so of what cannot be, and of what another writer has changed meanwhile.
_JAVA = re.compile(r"^: ([\w.$]+)", re.MULTILINE)
_VALIDATION = "org.apache.iceberg.exceptions.ValidationException"
_COMMIT = "org.apache.iceberg.SnapshotProducer"


def failed_on_spark(error: Exception, secrets: Collection[str] = ()) -> TaskFailed | None:
    """The failure of a task whose work on Spark raised; `None` where Spark has no part in it.

    Args:
        error: What it raised.
        secrets: Values that the failure must not tell.
    """
    kind = type(error)
    if not kind.__module__.startswith(_ENGINE) and not isinstance(error, ConnectionError):
        return None
    words = _first_words(error, secrets)
    if _is_wrong(error):
        return TaskFailed(
            f"Spark refuses the task's statement: {words}", error_code="ENGINE_FAILED", detail=words
        )
    failed = f"Spark failed while it ran the task ({kind.__name__})"
    return TaskFailed(
        _NOT_STARTED if _DID_NOT_START in words else failed,
        error_code="ENGINE_FAILED",
        retryable=True,
        detail=words,
    )


def _is_wrong(error: Exception) -> bool:
    if type(error).__name__ in _WRONG:
        return True
    text = str(error)
    thrown = _JAVA.search(text)
    return thrown is not None and thrown[1] == _VALIDATION and _COMMIT not in text


def reason_of(error: Exception) -> str:
    """Why a store did not do something: its first line, without what may sign a URL."""
    return f"{type(error).__name__}: {_first_words(error)}"[:_REASON_LENGTH]


def _first_words(error: Exception, secrets: Collection[str] = ()) -> str:
    """The first line that says what happened, without secrets and without what may sign a URL."""
    lines = (line.strip().removeprefix(": ") for line in str(error).splitlines())
    said = (line for line in lines if line and not line.startswith(_PREAMBLE))
    line = next(said, "")
    for secret in secrets:
        line = line.replace(secret, "…")
    return without_queries(line)[:_LENGTH]
