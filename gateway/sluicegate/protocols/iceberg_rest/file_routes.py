"""Handlers for tables that clients read file by file: planning of scans, and signing of requests.

Source: Iceberg REST specification, "planTableScan", "fetchPlanningResult", "cancelPlanning",
"fetchScanTasks" and "signRequest".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sluicegate.api import Principal, SharedTable
from sluicegate.http.bodies import read_body
from sluicegate.http.responses import JSON, NOT_STORED, GeneratedResponse
from sluicegate.protocols.common.endpoint import Handler
from sluicegate.protocols.common.iceberg_eligibility import check_urls
from sluicegate.protocols.common.parameters import json_object
from sluicegate.protocols.iceberg_rest import addresses
from sluicegate.protocols.iceberg_rest.load_table import FileLoads, LoadRequest, TableLoader
from sluicegate.protocols.iceberg_rest.resolve import PathResolver

LARGEST_SIGN_REQUEST = 64 << 10
"""Bytes. A URI has at most 16 KiB, and headers are not larger than a store accepts."""


class FilePlans(Protocol):
    """Plans scans, and signs requests for files."""

    async def plan(
        self, principal: Principal, shared: SharedTable, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[bytes]:
        """A PlanTableScanResult, in parts, for the client that the headers name."""

    async def planned(
        self, principal: Principal, shared: SharedTable, plan_id: str
    ) -> AsyncIterator[bytes]:
        """A FetchPlanningResult, in parts."""

    async def cancel(self, principal: Principal, shared: SharedTable, plan_id: str) -> None:
        """Check that a plan can be cancelled. It is complete, so there is nothing to stop."""

    async def tasks(
        self, principal: Principal, shared: SharedTable, body: bytes
    ) -> AsyncIterator[bytes]:
        """A FetchScanTasksResult, in parts."""

    async def sign(
        self, principal: Principal, shared: SharedTable, body: Mapping[str, Any]
    ) -> Response:
        """A RemoteSignResult."""

    async def fetch(self, request: Request) -> Response:
        """A file that the gateway generates."""

    async def serve_object(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of a client that takes the gateway for an object store."""


class FileService(FilePlans, FileLoads, Protocol):
    """Everything for tables that are read file by file."""


class FileEndpoints:
    """Serves these requests."""

    def __init__(
        self,
        requested: PathResolver,
        loader: TableLoader,
        files: Callable[[], Awaitable[FilePlans]],
        max_body: int,
    ) -> None:
        self._requested = requested
        self._loader = loader
        self._files = files
        self._max_body = max_body
        self.served: Sequence[tuple[Sequence[str], str, Handler]] = (
            (["POST"], addresses.PLAN, self._plan),
            (["GET"], addresses.PLAN_RESULT, self._planned),
            (["DELETE"], addresses.PLAN_RESULT, self._cancel),
            (["POST"], addresses.TASKS, self._tasks),
            (["POST"], addresses.SIGN, self._sign),
        )

    async def _plan(self, request: Request, principal: Principal) -> Response:
        body = await read_body(request, self._max_body)
        table = await self._table(request, principal)
        files = await self._files()
        return _json(await files.plan(principal, table, body, request.headers))

    async def _planned(self, request: Request, principal: Principal) -> Response:
        table = await self._table(request, principal)
        plan_id = request.path_params["plan_id"]
        files = await self._files()
        return _json(await files.planned(principal, table, plan_id))

    async def _cancel(self, request: Request, principal: Principal) -> Response:
        table = await self._table(request, principal)
        await (await self._files()).cancel(principal, table, request.path_params["plan_id"])
        return Response(status_code=204)

    async def _tasks(self, request: Request, principal: Principal) -> Response:
        body = await read_body(request, self._max_body)
        table = await self._table(request, principal)
        files = await self._files()
        return _json(await files.tasks(principal, table, body))

    async def _sign(self, request: Request, principal: Principal) -> Response:
        body = json_object(await read_body(request, min(self._max_body, LARGEST_SIGN_REQUEST)))
        table = await self._requested.table(request, principal)
        check_urls(table)
        return await (await self._files()).sign(principal, table, body)

    async def _table(self, request: Request, principal: Principal) -> SharedTable:
        """The table, if this client reads it file by file."""
        wanted = LoadRequest.parse(request.headers, {})
        found = await self._requested.for_load(request, principal, wanted.with_credentials)
        await self._loader.check_planned(found.table, wanted)
        return found.table


def _json(parts: AsyncIterator[bytes]) -> Response:
    return GeneratedResponse(parts, NOT_STORED, JSON)
