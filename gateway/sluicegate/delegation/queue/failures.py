"""Classifies failures of attempts: retryable or final, and the code and status for callers.

Source: Polaris delegation proposal, "Failure States (Synchronous)" and the OpenAPI's responses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sluicegate.api.delegation.reports import UNSTORABLE
from sluicegate.api.delegation.tasks import TaskFailed
from sluicegate.api.errors import SluicegateError, Unavailable
from sluicegate.telemetry.redaction import redact

EXECUTOR_FAILED = "EXECUTOR_FAILED"
START_WINDOW_CLOSED = "START_WINDOW_CLOSED"
TASK_CANCELLED = "TASK_CANCELLED"
WORKER_LOST = "WORKER_LOST"

# Maximum characters of an error's message: some engines put an entire plan into a message.
_LONGEST = 4_000
_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")

_STATUSES: Mapping[str, int] = {
    "INVALID_PAYLOAD": 400,
    "NOT_GRANTED": 403,
    TASK_CANCELLED: 409,
    START_WINDOW_CLOSED: 409,
    "CREDENTIAL_VENDING_FAILED": 502,
    "STORAGE_FAILED": 502,
    "COMMIT_STATE_UNKNOWN": 502,
    "ENGINE_FAILED": 502,
}


@dataclass(frozen=True, slots=True)
class AttemptFailure:
    """The reason why an attempt failed."""

    error_code: str
    message: str
    retryable: bool
    detail: str | None = None


class ExecutorRaised(Exception):
    """Replaces an executor's exception in the log, with a bounded message and the same stack."""


def failure_of(error: BaseException) -> AttemptFailure:
    """Return the failure that an executor's exception causes.

    The failure is stored in the database. Secrets are redacted, because a message of a store or an
    engine may contain a signed URL. The message of an unexpected exception is not stored.
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
            return AttemptFailure(
                "INTERNAL_ERROR", "an unexpected error stopped the task", True, _kind(error)
            )
        case _:
            message = "the executor ended without a result"
            return AttemptFailure(EXECUTOR_FAILED, message, True, _kind(error))


def loggable(error: BaseException) -> ExecutorRaised:
    """Return an exception that is safe to log: it has a short message, and formatting cannot raise."""
    shown = ExecutorRaised(f"{_kind(error)}: {_words(lambda: error)}")
    return shown.with_traceback(error.__traceback__)


def status_of(error_code: str | None) -> int:
    """Return the HTTP status of a synchronous response about a failed task."""
    return _STATUSES.get(error_code or "", 500)


def _failure(error: SluicegateError, code: str, *, retryable: bool) -> AttemptFailure:
    detail = None if error.detail is None else _words(lambda: error.detail)
    return AttemptFailure(code, _words(lambda: error.message), retryable, detail)


def _code(error: TaskFailed) -> str:
    code: object = error.error_code
    return code if isinstance(code, str) and _CODE.fullmatch(code) else "INTERNAL_ERROR"


def _kind(error: BaseException) -> str:
    return type(error).__name__[:100]


def _words(source: Callable[[], object]) -> str:
    """Return a message that every database can store."""
    try:
        text = str(source())
    except Exception:  # `__str__` of a plugin's own class raises anything
        return "(its message cannot be read)"
    return storable_text(text, _LONGEST)


def storable_text(text: str, longest: int) -> str:
    """Return a text from elsewhere without secrets, as every database can store it."""
    # Truncated before redaction, which is slow for long texts, and after it, because the first cut may
    # split a secret.
    kept = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", redact(text[: 2 * longest]))
    return kept if len(kept) <= longest else f"{kept[:longest]}…"
