"""Each response waits for its record, and without a record there is no response."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send
from support.clients.asgi import Request, exchange, scope_of
from support.clients.memory_log import MemoryLog
from support.gateways.audited import AuditedSite

from sluicegate._util.lazy import Lazy
from sluicegate.audit.actions import RequestActions
from sluicegate.audit.middleware import AuditTrail
from sluicegate.http.application import Application
from sluicegate.http.responses import error_response, ndjson_response
from sluicegate.telemetry.middleware import RequestTelemetry

pytestmark = pytest.mark.asyncio(loop_scope="module")

_QUERY = "/delta-sharing/shares/sales/schemas/eu/tables/orders/query"
_REFUSED = "the audit log cannot be written; try again later"


async def test_nothing_is_sent_before_the_record_is_stored(site: AuditedSite) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    arriving = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive() -> Message:
        if not arriving:
            await asyncio.Event().wait()
        return arriving.pop()

    headers = [("authorization", f"Bearer {site.tokens['acme']}")]
    site.log.hold()
    serving = asyncio.ensure_future(site.app(scope_of(Request("POST", _QUERY, headers)), receive, send))
    await site.log.waiting.wait()
    assert sent == []
    assert site.log.records == []
    site.log.release()
    await serving
    assert sent[0]["status"] == 200
    assert len(site.log.records) == 1


@pytest.mark.parametrize(
    ("method", "target", "body", "expected"),
    [
        (
            "GET",
            "/delta-sharing/shares",
            None,
            {"errorCode": "TEMPORARILY_UNAVAILABLE", "message": _REFUSED},
        ),
        ("POST", _QUERY, {}, {"errorCode": "TEMPORARILY_UNAVAILABLE", "message": _REFUSED}),
        (
            "GET",
            "/iceberg/v1/shares/sales/namespaces/eu/tables/orders",
            None,
            {"error": {"message": _REFUSED, "type": "ServiceUnavailableException", "code": 503}},
        ),
        (
            "POST",
            "/oauth/token",
            {},
            {"error": "slow_down", "error_description": _REFUSED},
        ),
        (
            "GET",
            "/admin/v1/shares",
            None,
            {"errorCode": "TEMPORARILY_UNAVAILABLE", "message": _REFUSED},
        ),
        (
            "GET",
            "/activate?token=x",
            None,
            {"errorCode": "TEMPORARILY_UNAVAILABLE", "message": _REFUSED},
        ),
        (
            "GET",
            "/content/vending-1/x",
            None,
            {"errorCode": "TEMPORARILY_UNAVAILABLE", "message": _REFUSED},
        ),
        ("GET", "/nothing", None, {"errorCode": "TEMPORARILY_UNAVAILABLE", "message": _REFUSED}),
    ],
)
async def test_without_a_record_each_protocol_refuses_in_its_format(
    site: AuditedSite, method: str, target: str, body: Any, expected: dict[str, Any]
) -> None:
    site.log.fails = True
    answer = await site.recipient("acme", method, target, body)
    assert answer.status == 503
    assert answer.json == expected
    assert "X-Amz-Signature" not in answer.body.decode()
    site.log.fails = False
    assert (await site.recipient("acme", "POST", _QUERY, {})).status == 200


async def test_a_change_that_cannot_be_recorded_is_not_made(site: AuditedSite) -> None:
    owner = await site.admin("owner")
    link = await site.links.rotate("acme")
    site.log.fails = True
    deleted = await site.send("DELETE", "/admin/v1/shares/sales", token=owner)
    used = await site.send("POST", f"/activate?token={link.token}")
    site.log.fails = False
    assert (deleted.status, used.status) == (503, 503)
    assert (await site.send("GET", "/admin/v1/shares/sales", token=owner)).status == 200
    assert (await site.send("POST", f"/activate?token={link.token}")).status == 200


class _App:
    """An application around one response, with the audit log of a test."""

    def __init__(self, inner: Any) -> None:
        self.log = MemoryLog()
        operations: Lazy[Any] = Lazy(dict)
        refuse = lambda path, error: error_response(error)  # noqa: E731
        self.app = RequestTelemetry(AuditTrail(inner, self.log, RequestActions((), operations), refuse))


async def test_an_error_that_nothing_handles_is_recorded(site: AuditedSite) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("of a plugin's wrapper")

    made = _App(broken)
    with pytest.raises(RuntimeError):
        await exchange(made.app, Request("GET", "/"))
    [record] = made.log.records
    assert (record.outcome, record.status, record.rule) == ("failed", 500, None)
    made.log.fails = True
    answer = await exchange(made.app, Request("GET", "/"))
    assert answer.status == 503


async def test_an_application_that_ignores_the_refusal_sends_nothing_more(site: AuditedSite) -> None:
    async def stubborn(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(2):
            for message in (
                {"type": "http.response.start", "status": 200, "headers": []},
                {"type": "http.response.body", "body": b"secret"},
            ):
                with suppress(Exception):
                    await send(message)

    made = _App(stubborn)
    made.log.fails = True
    answer = await exchange(made.app, Request("GET", "/"))
    assert answer.status == 503
    assert b"secret" not in answer.body


async def test_an_advanced_stream_is_closed_if_it_cannot_be_recorded(site: AuditedSite) -> None:
    closed = asyncio.Event()

    async def lines() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            yield b"second"
        finally:
            closed.set()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        parts = lines()
        await anext(parts)  # as the changes of a table, which are read before the response starts
        await ndjson_response(parts, {})(scope, receive, send)

    app = Application()
    app.router.default = serve
    made = _App(app)
    made.log.fails = True
    assert (await exchange(made.app, Request("GET", "/"))).status == 503
    assert closed.is_set()
