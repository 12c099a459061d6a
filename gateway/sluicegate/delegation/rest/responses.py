"""Builds responses of the service (Polaris delegation proposal, "Response Schemas")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.responses import Response

from sluicegate._util.clock import iso_utc
from sluicegate.access.authentication.oauth.endpoint import refusal_response
from sluicegate.access.authentication.oauth.requests import OAuthError
from sluicegate.api.errors import SluicegateError, deciding_rule
from sluicegate.delegation.queue.failures import status_of
from sluicegate.delegation.queue.records import TaskRecord, TaskVersion, asynchronous_name
from sluicegate.delegation.queue.tasks import TaskConflict
from sluicegate.http.responses import error_response, json_response

PREFIX = "/delegation-service/api"
SCOPE = "execute_tasks"
TOKEN_PATH = f"{PREFIX}/v1/oauth/tokens"
_TIMES = (
    ("received_timestamp", "received_at"),
    ("last_status_change_ts", "status_changed_at"),
    ("created_ts", "created_at"),
    ("lease_acquired_ts", "lease_acquired_at"),
    ("cancel_requested_ts", "cancel_requested_at"),
)


def finished(task: TaskRecord) -> Response:
    """Return the response to a synchronous request whose task is completed."""
    if task.status == "SUCCESS":
        return json_response(
            {
                "delegation_task_id": task.id,
                "status": "COMPLETED_SUCCESS",
                "message": task.result_summary or "",
                "execution_result": task.result or {},
            }
        )
    body = {
        "delegation_task_id": task.id,
        "status": "FAILED_TERMINAL",
        "error_code": task.error_code or "INTERNAL_ERROR",
        "message": task.result_summary or "the task failed",
        "details": f"attempts: {task.attempt_count}; stages finished: {', '.join(task.stages) or '-'}",
    }
    return json_response(body, status_of(task.error_code))


def accepted(task: TaskRecord, *, asynchronous_names: bool) -> Response:
    """Return the response to an asynchronous request."""
    return json_response(
        {
            "delegation_task_id": task.id,
            "status": asynchronous_name(task.status) if asynchronous_names else task.status,
            "status_query_url": f"{PREFIX}/v1/tasks/{task.id}",
        },
        202,
    )


def record(task: TaskRecord, *, asynchronous_names: bool = False) -> dict[str, Any]:
    """Return the record of a task, without secrets and without details for operators."""
    shown = {
        "task_id": task.id,
        "version": task.version,
        "parent_id": task.parent_id,
        "task_type": task.operation,
        "realm_id": task.realm,
        "correlation_id": task.correlation_id,
        "submitted_by": task.submitted_by,
        "schedule": task.schedule,
        "firing_id": task.firing_id,
        "priority": task.priority,
        "task_payload": task.payload,
        "status": asynchronous_name(task.status) if asynchronous_names else task.status,
        "attempt_count": task.attempt_count,
        "leased_by": task.leased_by,
        "stages": list(task.stages),
        "progress": task.progress,
        "execution_result": task.result,
        "error_code": task.error_code,
        "result_summary": task.result_summary,
    }
    times = {name: getattr(task, attribute) for name, attribute in _TIMES}
    waits = task.status == "RETRY_SCHEDULED" or (
        task.status == "SUBMITTED" and task.start_by is not None
    )
    times["next_scheduled_run_ts"] = task.due_at if waits else None
    times["start_by_ts"] = task.start_by
    return shown | {name: None if at is None else iso_utc(at) for name, at in times.items()}


def history(versions: Iterable[TaskVersion]) -> list[dict[str, Any]]:
    """Return the versions of a task's record."""
    return [
        {
            "version": each.version,
            "status": each.status,
            "attempt_count": each.attempt_count,
            "last_status_change_ts": iso_utc(each.status_changed_at),
            "leased_by": each.leased_by,
            "error_code": each.error_code,
            "result_summary": each.result_summary,
        }
        for each in versions
    ]


def refused(error: SluicegateError) -> Response:
    """Return the response to a failed request. All errors have this format."""
    return error_response(error, _error_body)


def refused_early(path: str, error: SluicegateError) -> Response:
    """Return the response to a request that is rejected before routing."""
    if path == TOKEN_PATH:
        return refusal_response(
            OAuthError("slow_down", error.message, error.status, rule=deciding_rule(error))
        )
    return refused(error)


def _error_body(error: SluicegateError) -> dict[str, Any]:
    body = {"error_code": error.code, "message": error.message}
    if isinstance(error, TaskConflict) and error.task_id is not None:
        body["delegation_task_id"] = error.task_id
    return body
