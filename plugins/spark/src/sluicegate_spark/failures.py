"""What a failure of Spark means for a task: the cluster's is tried again, a wrong statement is not."""

from __future__ import annotations

import re

from sluicegate.api import TaskFailed

_QUERY = re.compile(r"\?[^\s\"'<>)]*")
_LENGTH = 500
# The statement cannot succeed as it is: a table that is none, an option that is not known.
_WRONG = frozenset({"AnalysisException", "ParseException", "IllegalArgumentException"})
_ENGINE = ("pyspark.", "py4j.", "grpc")


def failed_on_spark(error: Exception) -> TaskFailed | None:
    """The failure of a task whose work on Spark raised; `None` where Spark has no part in it."""
    kind = type(error)
    if not kind.__module__.startswith(_ENGINE) and not isinstance(error, ConnectionError):
        return None
    wrong = kind.__name__ in _WRONG
    message = "Spark refuses the task's statement" if wrong else "Spark failed while it ran the task"
    return TaskFailed(
        f"{message} ({kind.__name__})",
        error_code="ENGINE_FAILED",
        retryable=not wrong,
        detail=_first_words(error),
    )


def _first_words(error: Exception) -> str:
    """For operators: the first line, without what may sign a URL."""
    line = next(filter(None, (line.strip() for line in str(error).splitlines())), "")
    return _QUERY.sub("?…", line)[:_LENGTH]
