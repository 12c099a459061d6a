"""What a failure means: tried again or terminal, and which code and status callers get for it.

Source: polaris-delegation-service.md, "Failure States (Synchronous)" and the OpenAPI's responses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sluicegate.errors import SluicegateError, Unavailable
from sluicegate.executors import TaskFailed
from sluicegate.telemetry.redaction import redact

TASK_CANCELLED = "TASK_CANCELLED"
WORKER_LOST = "WORKER_LOST"
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")

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


def failure_of(error: Exception) -> Failure:
    """What an executor's exception means.

    It is kept in the database, and a store's or an engine's own words in it may hold a signed URL:
    secrets are taken out. The words of what nobody foresaw are not kept at all.
    """
    match error:
        case TaskFailed():
            return _failure(error, error.error_code, retryable=error.retryable)
        case Unavailable():
            return _failure(error, "STORAGE_FAILED", retryable=True)
        case SluicegateError():
            code = "INVALID_PAYLOAD" if error.status == 400 else "INTERNAL_ERROR"
            return _failure(error, code, retryable=False)
        case _:
            kind = type(error).__name__
            return Failure("INTERNAL_ERROR", "an unexpected error stopped the task", True, kind)


def _failure(error: SluicegateError, code: str, *, retryable: bool) -> Failure:
    detail = None if error.detail is None else _kept(error.detail)
    return Failure(code, _kept(error.message), retryable, detail)


def _kept(text: str) -> str:
    """Words as every database takes them: PostgreSQL stores no null character."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", redact(text))


def status_of(error_code: str | None) -> int:
    """The HTTP status of a synchronous answer about a task that failed."""
    return _STATUSES.get(error_code or "", 500)
