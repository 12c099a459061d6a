"""Converts errors of Spark to failures of tasks. Errors of the cluster are retryable.

An error is final only if the statement is invalid: the same statement would fail again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from obstore.exceptions import BaseError

from sluicegate.api import SluicegateError, TaskFailed, without_queries
from sluicegate_spark.jvm.error_texts import (
    condition_text,
    data_error,
    has_error,
    is_about_statement,
    is_disk_full,
    is_of_data,
    masked,
    masked_sql,
    missing_module,
    without_values,
)

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
# gRPC's states of a server that can't be reached.
_UNREACHABLE = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNAUTHENTICATED")
_NAME_ONLY = re.compile(r'details = "[\w/.$]+"')


def failed_on_spark(error: Exception, secrets: Collection[str] = ()) -> TaskFailed | None:
    """Return the failure of a task for an error of Spark, or `None` for any other error.

    Args:
        secrets: Values that the failure must not contain.
    """
    kind = type(error)
    if not kind.__module__.startswith(_ENGINE) and not isinstance(error, ConnectionError):
        return None
    cause = _cause(error, secrets)
    if (known := _known(error)) is not None:
        return known
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
    about = f": {cause}" if _condition_of(error)[0] is not None else ""
    failed = f"Spark failed while running the task ({kind.__name__}{about})"
    return TaskFailed(
        _NOT_STARTED if _DID_NOT_START in cause else failed,
        error_code="ENGINE_FAILED",
        retryable=True,
        detail=cause,
    )


def _known(error: Exception) -> TaskFailed | None:
    """Return the failure of an error whose cause is known, wherever in its text it is."""
    text = str(error)
    if (module := missing_module(text)) is not None:
        return _failure(
            f"the Python of Spark's executors has no module '{module}': install the plugin, with all "
            "that it needs, in the environment of the cluster's machines (spark.archives), or add it "
            "to their image",
            retryable=False,
        )
    condition, state = _condition_of(error)
    if condition is not None and is_of_data(state):
        return _wrong_data(condition_text(condition, state) + _place_of(error))
    if (wrong := data_error(text)) is not None:
        return _wrong_data(wrong)
    if is_disk_full(text):
        return _failure(
            "a disk is full: the one of the table, or the one of 'spark.local.dir' on a machine of "
            "Spark; the next attempt continues when there is room again",
            retryable=True,
        )
    return None


def _wrong_data(what: str) -> TaskFailed:
    return _failure(
        f"a row has a value that the task's statement can't process: {what}; correct the row or the "
        "statement",
        retryable=False,
    )


def _failure(why: str, *, retryable: bool) -> TaskFailed:
    return TaskFailed(why, error_code="ENGINE_FAILED", retryable=retryable, detail=why)


@contextmanager
def errors_without_values() -> Iterator[None]:
    """Replace unexpected errors, for example of Arrow: the worker would log texts with values."""
    try:
        yield
    except SluicegateError:
        raise
    except Exception as error:
        failed = TaskFailed(
            "an unexpected error stopped the task",
            error_code="INTERNAL_ERROR",
            retryable=True,
            detail=type(error).__name__,
        )
        raise failed.with_traceback(error.__traceback__) from None


def _is_wrong(error: Exception) -> bool:
    if type(error).__name__ in _WRONG:
        return True
    text = str(error)
    thrown = _JAVA.search(text)
    return thrown is not None and thrown[1] == _VALIDATION and _COMMIT not in text


def reason_of(error: Exception) -> str:
    """Return the type and, of an error of a store, the first line of an error.

    Queries of URLs can be signatures, and texts of other errors can contain values of data.
    """
    name = type(error).__name__
    if not isinstance(error, (BaseError, OSError)):
        return name
    return f"{name}: {_first_line(error)}"[:_REASON_LENGTH]


def _cause(error: Exception, secrets: Collection[str]) -> str:
    """Return what failed, without values of data."""
    line = _first_line(error, secrets)
    if isinstance(error, ConnectionError):
        return line
    condition, state = _condition_of(error)
    if condition is not None:
        if is_about_statement(condition, state):
            return line if _is_wrong(error) else masked(line)
        return condition_text(condition, state) + _place_of(error)
    if _is_wrong(error) or _is_of_connection(error, line):
        return line
    if has_error(line):
        return without_values(line)
    return type(error).__name__


def _condition_of(error: Exception) -> tuple[str | None, str | None]:
    """Return the error condition of Spark, and its state of the SQL standard."""
    try:
        found = getattr(error, "getCondition", _nothing)(), getattr(error, "getSqlState", _nothing)()
    except Exception:  # the JVM may be gone
        return None, None
    condition, state = (each if isinstance(each, str) else None for each in found)
    return condition, state


def _place_of(error: Exception) -> str:
    """Return the part of the statement that failed, which names its columns, without constants."""
    try:
        contexts: list[Any] = getattr(error, "getQueryContext", list)()
        texts = [masked_sql(str(each.fragment())) for each in contexts[:1]]
    except Exception:  # some contexts have no fragment
        return ""
    return "".join(f" in {text}" for text in texts if text)


def _is_of_connection(error: Exception, line: str) -> bool:
    """Return whether the text is of py4j's or gRPC's own connection, or only the name of a class."""
    name, text = type(error).__name__, str(error)
    return (
        name == "Py4JNetworkError"
        or any(f"StatusCode.{code}" in text for code in _UNREACHABLE)
        or _NAME_ONLY.fullmatch(line) is not None
    )


def _nothing() -> None:
    pass


def _first_line(error: Exception, secrets: Collection[str] = ()) -> str:
    """Return the first informative line, without secrets and without queries of URLs."""
    lines = (line.strip().removeprefix(": ") for line in str(error).splitlines())
    causes = [line for line in lines if line and not line.startswith(_PREAMBLES)]
    details = (line for line in causes if line.startswith("details = "))
    line = next(details, causes[0] if causes else "")
    for secret in secrets:
        line = line.replace(secret, "…")
    return without_queries(line)[:_LENGTH]
