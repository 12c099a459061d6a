"""Tasks of the delegation service in the same database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sluicegate._util.clock import iso_utc
from sluicegate._util.units import Duration
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.dependencies import AdminServices
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services.tasks import TASK_FILTERS, Tasks, WorkerTask
from sluicegate.http.bodies import read_body
from sluicegate.protocols.common.pagination import page
from sluicegate.signing.opaque_tokens import TokenSigner

if TYPE_CHECKING:
    from sluicegate.delegation.queue.records import TaskRecord

_TASK = "/tasks/{task}"


class AnyTask(BaseModel):
    """A task, with the request body of the delegation service."""

    model_config = ConfigDict(frozen=True, extra="allow")


class PruneTasks(BaseModel):
    """Which tasks are deleted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    older_than: Duration | None = Field(
        default=None, ge=0, description="Minimum age, such as 90d; by default `delegation.retention`."
    )


class TasksResource:
    """Serves `/tasks`."""

    def __init__(self, tasks: Tasks, services: AdminServices, pages: TokenSigner) -> None:
        self._tasks = tasks
        self._services = services
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute("GET", "/tasks", self._list, "viewer", "listTasks", all_shares=True),
            AdminRoute(
                "POST", "/tasks", self._submit, "admin", "submitTask", all_shares=True, body=AnyTask
            ),
            AdminRoute(
                "POST",
                "/tasks/prune",
                self._prune,
                "admin",
                "pruneTasks",
                all_shares=True,
                body=PruneTasks,
            ),
            AdminRoute("GET", "/workers", self._workers, "viewer", "listWorkers", all_shares=True),
            AdminRoute("GET", _TASK, self._show, "viewer", "getTask", all_shares=True),
            AdminRoute("POST", f"{_TASK}/cancel", self._cancel, "admin", "cancelTask", all_shares=True),
            AdminRoute("POST", f"{_TASK}/retry", self._retry, "admin", "retryTask", all_shares=True),
        ]

    async def _list(self, call: AdminCall) -> Response:
        values = call.query(*TASK_FILTERS)
        wanted = call.page(*TASK_FILTERS)
        bound = "\n".join((wanted.bound_to, *(values.get(name, "") for name in TASK_FILTERS)))
        after = None
        if wanted.token is not None:
            after = self._pages.verify(wanted.token, bound_to=bound, parameter="pageToken")["after"]
        limit = max(wanted.max_results, 1)
        found = await self._tasks.find(values, limit, after)
        answer: dict[str, Any] = {"items": [_shown(each) for each in found]}
        if len(found) == limit:
            answer["nextPageToken"] = self._pages.sign({"after": found[-1].id}, bound_to=bound)
        return answered(answer)

    async def _workers(self, call: AdminCall) -> Response:
        found = await self._tasks.workers()
        shown = page(sorted(found), str, call.page(), self._pages)
        return answered(
            shown.shown(lambda name: {"worker": name, "tasks": [*map(_worked_on, found[name])]})
        )

    async def _show(self, call: AdminCall) -> Response:
        from sluicegate.delegation.rest.responses import history

        task = await self._tasks.queue.get(call.name("task"))
        versions = history(await self._tasks.queue.history(task.id))
        more = {"result_extended": task.result_extended, "versions": versions}
        return answered(_shown(task) | more)

    async def _submit(self, call: AdminCall) -> Response:
        content = await read_body(call.request, call.max_body)
        return answered(_shown(await self._tasks.submit(content, self._services.configured())), 201)

    async def _prune(self, call: AdminCall) -> Response:
        wanted = await call.parse(PruneTasks)
        return answered({"pruned": await self._tasks.prune(wanted.older_than)})

    async def _cancel(self, call: AdminCall) -> Response:
        return answered(_shown(await self._tasks.cancel(call.name("task"))))

    async def _retry(self, call: AdminCall) -> Response:
        return answered(_shown(await self._tasks.retry(call.name("task"))))


def _worked_on(found: WorkerTask) -> dict[str, Any]:
    task = found.task
    return {
        "task_id": task.id,
        "task_type": task.operation,
        "table": task.table,
        "status": task.status,
        "attempt_count": task.attempt_count,
        "progress": task.progress,
        "lease_acquired_ts": iso_utc(task.lease_acquired_at or 0),
        "lease_expires_ts": iso_utc(task.due_at or 0),
        "lease_expired": found.expired,
        "cancel_requested": task.cancel_requested_at is not None,
    }


def _shown(task: TaskRecord) -> dict[str, Any]:
    from sluicegate.delegation.rest.responses import record

    return record(task)
