"""Tasks of the delegation service: a list, and pages that follow the progress of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from sluicegate.admin.assembly import AdminApi
from sluicegate.admin.console.call import ConsoleCall
from sluicegate.admin.console.endpoint import ConsoleRoute
from sluicegate.admin.services.tasks import TASK_FILTERS

if TYPE_CHECKING:
    from sluicegate.delegation.queue.records import TaskRecord, TaskVersion

_PAGE = 50
# Versions of a task's record: one that was retried for days has hundreds.
_MOST_VERSIONS = 100
_MOST_SCHEDULES = 100
# Seconds after which a browser without JavaScript loads the page again.
_REFRESH = 10
_TASK = "/tasks/{task}"


class TasksPages:
    """Shows tasks, cancels and retries them."""

    def __init__(self, admin: AdminApi) -> None:
        self._tasks = admin.tasks
        self._schedules = admin.schedules

    def routes(self) -> list[ConsoleRoute]:
        """The routes."""
        return [
            ConsoleRoute("GET", "/tasks", self._list, all_shares=True),
            ConsoleRoute("GET", _TASK, self._show, all_shares=True),
            ConsoleRoute("GET", f"{_TASK}/state", self._state, all_shares=True),
            ConsoleRoute("GET", f"{_TASK}/cancel", self._confirm_cancel, "admin", all_shares=True),
            ConsoleRoute("POST", f"{_TASK}/cancel", self._cancel, "admin", all_shares=True),
            ConsoleRoute("GET", f"{_TASK}/retry", self._confirm_retry, "admin", all_shares=True),
            ConsoleRoute("POST", f"{_TASK}/retry", self._retry, "admin", all_shares=True),
        ]

    async def _list(self, call: ConsoleCall) -> Response:
        from sluicegate.delegation.queue.records import STATUSES

        given = {name: call.query(name) for name in TASK_FILTERS}
        wanted = {name: value for name, value in given.items() if value}
        after = call.query("after") or None
        found = await self._tasks.find(wanted, _PAGE + 1, after)
        more = len(found) > _PAGE
        shown = found[:_PAGE]
        return call.page(
            "tasks.html",
            tasks=[task_values(each) for each in shown],
            given=given,
            statuses=STATUSES,
            following=call.url("tasks", **wanted, after=shown[-1].id) if more else None,
            first=call.url("tasks", **wanted) if after else None,
            schedules=[] if wanted or after else await self._scheduled(),
        )

    async def _scheduled(self) -> list[dict[str, Any]]:
        """The schedules, for the first page without filters."""
        names = self._schedules.names[:_MOST_SCHEDULES]
        return await self._schedules.reports(names)

    async def _show(self, call: ConsoleCall) -> Response:
        task = await self._tasks.queue.get(call.name("task"))
        follows = call.query("follow") != "no"
        values = await self._values(task)
        refresh = _REFRESH if follows and not task.ended else None
        return call.page("task.html", **values, follows=follows, refresh=refresh)

    async def _state(self, call: ConsoleCall) -> Response:
        """The part of the page that changes, for the script."""
        task = await self._tasks.queue.get(call.name("task"))
        return call.page("task_state.html", **await self._values(task))

    async def _values(self, task: TaskRecord) -> dict[str, Any]:
        versions = await self._tasks.queue.history(task.id)
        newest = [_version_values(each) for each in reversed(versions[-_MOST_VERSIONS:])]
        left_out = max(0, len(versions) - _MOST_VERSIONS)
        return {"task": task_values(task), "versions": newest, "left_out": left_out}

    async def _confirm_cancel(self, call: ConsoleCall) -> Response:
        return await self._confirm(
            call,
            "Cancel",
            "If no worker has the task, it ends at once. Otherwise, its worker stops at its next "
            "heartbeat. What is done already is not undone.",
        )

    async def _confirm_retry(self, call: ConsoleCall) -> Response:
        return await self._confirm(
            call, "Retry", "The task begins with attempt 1. Finished stages are not repeated."
        )

    async def _confirm(self, call: ConsoleCall, action: str, effect: str) -> Response:
        task = await self._tasks.queue.get(call.name("task"))
        return call.confirmation(
            f"{action} the task?",
            [f"{task.operation} of {task.table} is {task.status}.", effect],
            f"{action} the task",
            back=call.url("tasks", task.id),
        )

    async def _cancel(self, call: ConsoleCall) -> Response:
        task = await self._tasks.cancel(call.name("task"))
        message = "the task is cancelled"
        if not task.ended:
            message = "cancellation is requested: the worker stops at its next heartbeat"
        return call.redirect("tasks", task.id, message=message)

    async def _retry(self, call: ConsoleCall) -> Response:
        task = await self._tasks.retry(call.name("task"))
        return call.redirect("tasks", task.id, message="the task waits for a worker again")


def task_values(task: TaskRecord) -> dict[str, Any]:
    """A task as templates show it: without its request's parameters, and without secrets."""
    return {
        "id": task.id,
        "operation": task.operation,
        "table": task.table,
        "realm": task.realm,
        "correlation_id": task.correlation_id,
        "submitted_by": task.submitted_by,
        "schedule": task.schedule,
        "priority": task.priority,
        "status": task.status,
        "ended": task.ended,
        "failed": task.status == "FAILURE",
        "cancelling": task.leased and task.cancel_requested_at is not None,
        "received_at": task.received_at,
        "changed_at": task.status_changed_at,
        "attempts": task.attempt_count,
        "worker": task.leased_by,
        "next_attempt": task.due_at if task.status == "RETRY_SCHEDULED" else None,
        "stages": task.stages,
        "progress": task.progress,
        "error_code": task.error_code,
        "summary": task.result_summary,
        "result": sorted((task.result or {}).items()),
    }


def _version_values(version: TaskVersion) -> dict[str, Any]:
    return {
        "number": version.version,
        "status": version.status,
        "attempt": version.attempt_count,
        "at": version.status_changed_at,
        "worker": version.leased_by,
        "error_code": version.error_code,
        "summary": version.result_summary,
    }
