"""What a failure means: tried again or terminal, and which code and status callers get for it.

Source: polaris-delegation-service.md, "Failure States (Synchronous)" and the OpenAPI's responses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sluicegate.delegation.reports import UNSTORABLE
from sluicegate.errors import SluicegateError, Unavailable
from sluicegate.executors import TaskFailed
from sluicegate.telemetry.redaction import redact

EXECUTOR_FAILED = "EXECUTOR_FAILED"
TASK_CANCELLED = "TASK_CANCELLED"
WORKER_LOST = "WORKER_LOST"

# Characters of an error's words that are kept: some engines put a whole plan into a message.
_LONGEST = 4_000
_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")

_STATUSES: Mapping[str, int] = {
    "INVALID_PAYLOAD": 400,
    "NOT_GRANTED": 403,
    TASK_CANCELLED: 409,
    "CREDENTIAL_VENDING_FAILED": 502,
    "STORAGE_FAILED": 502,
    "ENGINE_FAILED": 502,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed.

    Attributes:
        message: For whoever handed the task over.
        detail: For operators.
    """

    error_code: str
    message: str
    retryable: bool
    detail: str | None = None


class ExecutorRaised(Exception):
    """Stands in the log for what an executor raised: its words are bounded, its stack is the same."""


def failure_of(error: BaseException) -> Failure:
    """What an executor's exception means.

    It is kept in the database, and a store's or an engine's own words in it may hold a signed URL:
    secrets are taken out. The words of what nobody foresaw are not kept at all.
    """
    match error:
        case TaskFailed():
            return _failure(error, _code(error), retryable=error.retryable is True)
        case Unavailable():
            return _failure(error, "STORAGE_FAILED", retryable=True)
        case SluicegateError():
            code = "INVALID_PAYLOAD" if error.status == 400 else "INTERNAL_ERROR"
            return _failure(error, code, retryable=False)
        case Exception():
            return Failure("INTERNAL_ERROR", "an unexpected error stopped the task", True, _kind(error))
        case _:
            message = "the executor ended without a result"
            return Failure(EXECUTOR_FAILED, message, True, _kind(error))


def loggable(error: BaseException) -> ExecutorRaised:
    """An exception as a log can show it: reading its words cannot raise, and they are bounded."""
    shown = ExecutorRaised(f"{_kind(error)}: {_words(lambda: error)}")
    return shown.with_traceback(error.__traceback__)


def status_of(error_code: str | None) -> int:
    """The HTTP status of a synchronous answer about a task that failed."""
    return _STATUSES.get(error_code or "", 500)


def _failure(error: SluicegateError, code: str, *, retryable: bool) -> Failure:
    detail = None if error.detail is None else _words(lambda: error.detail)
    return Failure(code, _words(lambda: error.message), retryable, detail)


def _code(error: TaskFailed) -> str:
    code: object = error.error_code
    return code if isinstance(code, str) and _CODE.fullmatch(code) else "INTERNAL_ERROR"


def _kind(error: BaseException) -> str:
    return type(error).__name__[:100]


def _words(source: Callable[[], object]) -> str:
    """Words as every database takes them: PostgreSQL stores no null character."""
    try:
        text = str(source())
    except Exception:  # `__str__` of a plugin's own class raises anything
        return "(its words cannot be read)"
    # Cut twice: redacting takes long for long texts, and a secret may be cut in half.
    kept = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", redact(text[: 2 * _LONGEST]))
    return kept if len(kept) <= _LONGEST else f"{kept[:_LONGEST]}…"
