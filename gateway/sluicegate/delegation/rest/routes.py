"""REST routes to submit tasks, wait for them, look them up, and cancel them.

Source: Polaris delegation proposal, "Delegation Service OpenAPI REST spec" and "Future Work".
"""

from __future__ import annotations

import re
from collections.abc import Collection

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluicegate.api.errors import InvalidRequest
from sluicegate.audit.trail import announce, note_changes, note_resource
from sluicegate.delegation.grants import RealmGrants
from sluicegate.delegation.queue.completion import Watcher
from sluicegate.delegation.queue.records import STATUSES, TaskRecord
from sluicegate.delegation.queue.tasks import TaskFilter, TaskQueue, no_such_task
from sluicegate.delegation.rest import responses
from sluicegate.delegation.rest.callers import Caller, Callers
from sluicegate.delegation.task_payload import TaskPayload
from sluicegate.http.bodies import read_body
from sluicegate.http.concurrency_limit import slots_of
from sluicegate.http.responses import json_response

_PARSED_AT_ONCE = 2  # each might need a hundred times its size in memory
_PARSED_ON_LOOP = 64_000  # bytes; parsing these takes less time than switching to a thread
_MOST_LISTED = 1000
_LIMIT = re.compile(r"[0-9]{1,4}")


class TaskRoutes:
    """Handles requests about tasks."""

    def __init__(
        self,
        callers: Callers,
        queue: TaskQueue,
        watcher: Watcher,
        operations: Collection[str],
        grants: RealmGrants,
        max_body: int,
    ) -> None:
        self._callers = callers
        self._queue = queue
        self._watcher = watcher
        self._operations = operations
        self._grants = grants
        self._max_body = max_body
        self._parsing = anyio.CapacityLimiter(_PARSED_AT_ONCE)

    def routes(self) -> list[Route]:
        """Return the routes."""
        tasks = f"{responses.PREFIX}/v1/tasks"
        return [
            Route(f"{tasks}/execute/synchronous", self._execute, methods=["POST"]),
            Route(tasks, self._submit, methods=["POST"]),
            Route(tasks, self._list, methods=["GET"]),
            Route(f"{tasks}/{{task_id}}", self._show, methods=["GET"]),
            Route(f"{tasks}/{{task_id}}/history", self._history, methods=["GET"]),
            Route(f"{tasks}/{{task_id}}/cancel", self._cancel, methods=["POST"]),
            Route(f"{tasks}/{{task_id}}/retry", self._retry, methods=["POST"]),
        ]

    async def _execute(self, request: Request) -> Response:
        task = await self._take(request)
        if (slots := slots_of(request.scope)) is not None:
            slots.leave()  # waiting only occupies the connection, and can take hours
        ended: TaskRecord | None = None
        async with anyio.create_task_group() as group:

            async def leave_with_client() -> None:
                # The body was read, so the next message can only be the client's disconnection.
                await request.receive()
                group.cancel_scope.cancel()

            group.start_soon(leave_with_client)
            ended = await self._watcher.wait(task)
            group.cancel_scope.cancel()
        # The client is gone, so any response will do.
        return Response(status_code=499) if ended is None else responses.finished(ended)

    async def _submit(self, request: Request) -> Response:
        task = await self._take(request)
        return responses.accepted(task, asynchronous_names=_asynchronous(request))

    async def _list(self, request: Request) -> Response:
        caller = await self._callers.authenticate(request)
        wanted = _filter(request, caller)
        found = await self._queue.find(wanted)
        names = _asynchronous(request)
        shown = {"tasks": [responses.record(task, asynchronous_names=names) for task in found]}
        more = {"next_after": found[-1].id} if len(found) == wanted.limit else {}
        return json_response(shown | more)

    async def _show(self, request: Request) -> Response:
        task = await self._one(request)
        return json_response(responses.record(task, asynchronous_names=_asynchronous(request)))

    async def _history(self, request: Request) -> Response:
        task = await self._one(request)
        return json_response({"versions": responses.history(await self._queue.history(task.id))})

    async def _cancel(self, request: Request) -> Response:
        found = await self._one(request)
        await announce()
        task = await self._queue.cancel(found.id)
        note_changes([f"~ task {task.id}: cancelled"])
        return json_response(responses.record(task), 202)

    async def _retry(self, request: Request) -> Response:
        found = await self._one(request)
        await announce()
        task = await self._queue.retry(found.id)
        note_changes([f"~ task {task.id}: to be retried"])
        return json_response(responses.record(task), 202)

    async def _take(self, request: Request) -> TaskRecord:
        caller = await self._callers.authenticate(request)
        body = await read_body(request, self._max_body)
        if len(body) <= _PARSED_ON_LOOP:
            payload = self._checked(body, caller)
        else:
            payload = await anyio.to_thread.run_sync(self._checked, body, caller, limiter=self._parsing)
        await announce()
        task = await self._queue.submit(payload, caller.name)
        note_resource(task.table)
        note_changes([f"+ task {task.id}: {task.operation} of {task.table}"])
        return task

    def _checked(self, body: bytes, caller: Caller) -> TaskPayload:
        payload = TaskPayload.parse(body, self._max_body)
        caller.check_realm(payload.common_payload.realm_identifier)
        payload.check_operation(self._operations)
        self._grants.check_payload(payload)
        return payload

    async def _one(self, request: Request) -> TaskRecord:
        caller = await self._callers.authenticate(request)
        task = await self._queue.get(request.path_params["task_id"])
        if task.realm not in caller.realms:
            raise no_such_task(task.id)
        return task


def _filter(request: Request, caller: Caller) -> TaskFilter:
    query = request.query_params
    realm, status = query.get("realm"), query.get("status")
    if realm is not None:
        caller.check_realm(realm)
    if status is not None and status not in STATUSES:
        raise InvalidRequest(f"status must be one of {', '.join(STATUSES)}")
    limit = query.get("limit", "100")
    if any("\0" in value for value in query.values()):
        raise InvalidRequest("no filter can hold a null character")
    if not _LIMIT.fullmatch(limit) or not 1 <= int(limit) <= _MOST_LISTED:
        raise InvalidRequest(f"limit must be a number from 1 to {_MOST_LISTED}")
    return TaskFilter(
        realms=caller.realms if realm is None else (realm,),
        status=status,
        operation=query.get("operation_type"),
        correlation_id=query.get("correlation_id"),
        limit=int(limit),
        after=query.get("after"),
    )


def _asynchronous(request: Request) -> bool:
    """Return whether the request requires the states of the proposal's asynchronous API."""
    return request.query_params.get("status_names") == "asynchronous"
