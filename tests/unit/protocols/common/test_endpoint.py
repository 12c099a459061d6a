"""What happens to a request before and after its handler."""

from __future__ import annotations

import pytest
from starlette.requests import Request as Received
from starlette.responses import Response
from support.clients.asgi import Answer, Request, ask, scope_of
from support.gateways.in_memory import by_name
from support.gateways.memory_grants import ACME

from sluicegate.api.errors import NotFound, SluicegateError, Unauthenticated
from sluicegate.api.principals import Principal
from sluicegate.http.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitMiddleware
from sluicegate.http.limits import ConcurrencyLimits
from sluicegate.protocols.common.endpoint import Endpoint, admit_sender

KNOWN = {"authorization": "Bearer acme"}


def endpoint(failure: Exception | None = None) -> Endpoint:
    """An endpoint that returns the name of the recipient, or fails."""

    async def handle(request: Received, principal: Principal) -> Response:
        if failure is not None:
            raise failure
        return Response(f"{request.url.path} for {principal.name}")

    return Endpoint(handle, by_name())


async def test_the_handler_gets_the_request_and_its_recipient() -> None:
    answer = await ask(endpoint(), "/shares", KNOWN)
    assert (answer.status, answer.body) == (200, b"/shares for acme")


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [({}, "Bearer"), ({"authorization": "Bearer other"}, 'Bearer error="invalid_token"')],
)
async def test_without_valid_credentials_the_handler_is_not_called(
    headers: dict[str, str], challenge: str
) -> None:
    answer = await ask(endpoint(AssertionError("called")), "/shares", headers)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, challenge)
    assert answer.json["errorCode"] == "UNAUTHENTICATED"


async def test_an_error_of_the_handler_is_the_response() -> None:
    answer = await ask(endpoint(NotFound("there is no share 'x'", detail="db-7")), "/shares", KNOWN)
    assert answer.status == 404
    assert answer.json == {"errorCode": "RESOURCE_DOES_NOT_EXIST", "message": "there is no share 'x'"}


async def test_an_unexpected_error_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    answer = await ask(endpoint(KeyError("hunter2")), "/shares", KNOWN)
    assert (answer.status, answer.json["errorCode"]) == (500, "INTERNAL_ERROR")
    assert b"hunter2" not in answer.body
    assert "unexpected KeyError" in caplog.text


async def test_errors_have_the_format_of_the_protocol() -> None:
    async def handle(request: Received, principal: Principal) -> Response:
        raise NotFound("gone")

    def refuse(error: SluicegateError) -> Response:
        return Response(f"no: {error.message}", 418)

    answer = await ask(Endpoint(handle, by_name(), refuse), "/shares", KNOWN)
    assert (answer.status, answer.body) == (418, b"no: gone")


async def test_a_request_counts_for_its_recipient_until_its_response_is_sent() -> None:
    meanwhile: list[Answer] = []

    async def handle(request: Received, principal: Principal) -> Response:
        if not meanwhile:
            meanwhile.append(await ask(limited, "/shares", KNOWN))
        return Response()

    limits = ConcurrencyLimits(max_requests_per_recipient=1, queue_timeout=0)
    limited = ConcurrencyLimitMiddleware(Endpoint(handle, by_name()), ConcurrencyLimit(limits))
    assert [(await ask(limited, "/shares", KNOWN)).status for _ in range(2)] == [200, 200]
    [refused] = meanwhile
    assert (refused.status, refused.json["errorCode"]) == (429, "RESOURCE_EXHAUSTED")
    assert "this recipient has 1 concurrent requests" in refused.json["message"]


async def test_without_admission_control_a_sender_is_only_authenticated() -> None:
    known, unknown = (
        scope_of(Request("GET", "/shares", [("authorization", f"Bearer {name}")]))
        for name in ("acme", "other")
    )
    assert await admit_sender(known, by_name()) == ACME
    with pytest.raises(Unauthenticated):
        await admit_sender(unknown, by_name())
