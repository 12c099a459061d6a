"""Which requests are recorded in the audit log, and by which names of operations."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from support.clients.asgi import Request, exchange
from support.clients.described import PATHS
from support.clients.described import operations as operations_of
from support.clients.memory_log import MemoryLog

from sluicegate._util.lazy import Lazy
from sluicegate.api.errors import SluicegateError
from sluicegate.audit.actions import Operations, operation_key
from sluicegate.http.responses import error_response
from sluicegate.protocols.auditing import lazy_operations, recorded


async def _respond(request: object) -> Response:
    return PlainTextResponse("ok")


def _refuse(path: str, error: SluicegateError) -> Response:
    return error_response(error)


@pytest.mark.parametrize(
    ("path", "is_recorded"),
    [
        ("/delta-sharing/shares", True),
        ("/livez", False),
        ("/readyz", False),
        ("/delta-sharing/openapi.json", False),
        ("/activate/style.css", False),
        ("/console/static/style.css", False),
        ("/activate", True),
    ],
)
async def test_only_requests_that_reveal_nothing_are_not_recorded(path: str, is_recorded: bool) -> None:
    log = MemoryLog()
    route = Route(path, _respond)
    operations = Lazy[Operations](dict)
    app = recorded(route, log, [route], operations, _refuse, frozenset({"/console/static/style.css"}))
    answer = await exchange(app, Request("GET", path))
    assert (answer.status, len(log.records)) == (200, int(is_recorded))


async def test_operations_come_from_the_document_and_from_the_admin_api() -> None:
    operations = await lazy_operations(dict).get()
    assert operations["GET", "/delta-sharing/shares"] == "listShares"
    assert operations == {
        operation_key(method, path): each["operationId"]
        for (method, path), each in operations_of(PATHS).items()
    }
    more = await lazy_operations(lambda: {("GET", "/api/v1/shares"): "adminShares"}).get()
    assert more == {**operations, ("GET", "/api/v1/shares"): "adminShares"}
