"""Tasks of the delegation service in the same database."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sluicegate._util.units import Duration
from sluicegate.admin.call import AdminCall, answered
from sluicegate.admin.endpoint import AdminRoute
from sluicegate.admin.services import AdminServices
from sluicegate.api.errors import InvalidRequest
from sluicegate.config import Settings
from sluicegate.config.yaml import nearest
from sluicegate.http.bodies import read_body
from sluicegate.signing.opaque_tokens import TokenSigner

if TYPE_CHECKING:
    from sluicegate.delegation.queue.records import TaskRecord
    from sluicegate.delegation.queue.tasks import TaskQueue

_FILTERS = ("status", "operation", "realm", "correlation_id")
_TASK = "/tasks/{task}"
_OPERATOR = "operator"


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
    """Serves `/tasks`. The queue is loaded with the first request.

    Args:
        services: The open database, and the configured executors.
        settings: The settings of the gateway.
        pages: Signs page tokens.
    """

    def __init__(self, services: AdminServices, settings: Settings, pages: TokenSigner) -> None:
        self._services = services
        self._settings = settings
        self._pages = pages

    def routes(self) -> list[AdminRoute]:
        """The routes."""
        return [
            AdminRoute(
                "GET",
                "/tasks",
                self._list,
                "viewer",
                "listTasks",
                "List tasks of the delegation service, newest first",
                "Tasks",
                all_shares=True,
                parameters=(
                    ("status", "Only tasks in this state."),
                    ("operation", "Only this operation, such as `TABLE_PURGE`."),
                    ("realm", "Only tasks of this realm."),
                    ("correlation_id", "Only tasks with this correlation id."),
                ),
                paged=True,
            ),
            AdminRoute(
                "POST",
                "/tasks",
                self._submit,
                "admin",
                "submitTask",
                "Submit a task; the same task again returns the first one",
                "Task",
                (201,),
                all_shares=True,
                body=AnyTask,
                errors=(409,),
            ),
            AdminRoute(
                "POST",
                "/tasks/prune",
                self._prune,
                "admin",
                "pruneTasks",
                "Delete tasks that completed long ago, with their histories",
                "PrunedTasks",
                all_shares=True,
                body=PruneTasks,
            ),
            AdminRoute(
                "GET",
                _TASK,
                self._show,
                "viewer",
                "getTask",
                "Get a task with its history",
                "Task",
                all_shares=True,
                errors=(404,),
            ),
            AdminRoute(
                "POST",
                f"{_TASK}/cancel",
                self._cancel,
                "admin",
                "cancelTask",
                "Cancel a task; a worker that runs it stops at its next heartbeat",
                "Task",
                all_shares=True,
                errors=(404, 409),
            ),
            AdminRoute(
                "POST",
                f"{_TASK}/retry",
                self._retry,
                "admin",
                "retryTask",
                "Retry a failed task; completed stages are not repeated",
                "Task",
                all_shares=True,
                errors=(404, 409),
            ),
        ]

    async def _list(self, call: AdminCall) -> Response:
        from sluicegate.delegation.queue.states import STATUSES
        from sluicegate.delegation.queue.tasks import TaskFilter

        values = call.query(*_FILTERS)
        status = values.get("status")
        if status is not None and status not in STATUSES:
            raise InvalidRequest(f"there is no status '{status[:64]}'{nearest(status[:64], STATUSES)}")
        wanted = call.page(*_FILTERS)
        bound = "\n".join((wanted.bound_to, *(values.get(name, "") for name in _FILTERS)))
        after = None
        if wanted.token is not None:
            after = self._pages.verify(wanted.token, bound_to=bound, parameter="pageToken")["after"]
        realm = values.get("realm")
        query = TaskFilter(
            realms=None if realm is None else (realm,),
            status=status,
            operation=values.get("operation"),
            correlation_id=values.get("correlation_id"),
            limit=max(wanted.max_results, 1),
            after=after,
        )
        found = await self._queue.find(query)
        answer: dict[str, Any] = {"items": [_shown(each) for each in found]}
        if len(found) == query.limit:
            answer["nextPageToken"] = self._pages.sign({"after": found[-1].id}, bound_to=bound)
        return answered(answer)

    async def _show(self, call: AdminCall) -> Response:
        from sluicegate.delegation.rest.responses import history

        task = await self._queue.get(call.name("task"))
        versions = history(await self._queue.history(task.id))
        more = {"result_extended": task.result_extended, "versions": versions}
        return answered(_shown(task) | more)

    async def _submit(self, call: AdminCall) -> Response:
        from sluicegate.delegation.grants import RealmGrants
        from sluicegate.delegation.payloads.task_payload import TaskPayload

        payload = TaskPayload.parse(await read_body(call.request, call.max_body))
        configured = self._services.configured()
        payload.check_operation(configured.operations)
        RealmGrants.configured(self._settings.delegation, configured).check_payload(payload)
        return answered(_shown(await self._queue.submit(payload, _OPERATOR)), 201)

    async def _prune(self, call: AdminCall) -> Response:
        from sluicegate.delegation.queue.retention import Retention

        wanted = await call.parse(PruneTasks)
        age = self._settings.delegation.retention if wanted.older_than is None else wanted.older_than
        return answered({"pruned": await Retention(self._services.store, age).prune()})

    async def _cancel(self, call: AdminCall) -> Response:
        return answered(_shown(await self._queue.cancel(call.name("task"))))

    async def _retry(self, call: AdminCall) -> Response:
        return answered(_shown(await self._queue.retry(call.name("task"))))

    @cached_property
    def _queue(self) -> TaskQueue:
        from sluicegate.delegation.queue.encryption import PayloadCipher
        from sluicegate.delegation.queue.tasks import TaskQueue

        return TaskQueue(self._services.store, PayloadCipher.of(self._settings))


def _shown(task: TaskRecord) -> dict[str, Any]:
    from sluicegate.delegation.rest.responses import record

    return record(task)
