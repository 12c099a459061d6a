"""Slow and failing servers, servers with invalid responses, and text that recipients never see."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest

from sluicegate.api import NotFound, Unavailable
from sluicegate_testing.servers.unity_catalog.unity import (
    UnityReply,
    UnityRequest,
    UnityServer,
    table_info,
)

from .conftest import Connected

TOKEN = "service-token"
HTML = UnityReply(200, b"<html>Sign in</html>", {"Content-Type": "text/html"})
INTERNAL = "words of 10.0.0.7"


@pytest.fixture(autouse=True)
def _orders(unity: UnityServer) -> None:
    unity.state.add(table_info("main.eu.orders", "file:///lake/orders"))


@pytest.fixture
def silence(unity: UnityServer) -> Iterator[threading.Event]:
    """The server doesn't respond before the test has ended."""
    over = threading.Event()

    def wait(_: UnityRequest) -> None:
        over.wait(30)

    unity.instead = wait
    yield over
    over.set()


@pytest.mark.parametrize(
    "reply",
    [
        HTML,
        UnityReply(200, b""),
        UnityReply(200, b"[]"),
        UnityReply(200, b'{"name": "orders"'),
        UnityReply(200, b"\xff\xfe"),
        UnityReply(200, b'{"a":' * 100_000),
        UnityReply.of({}),
        UnityReply(204),
        UnityReply.of({"name": "orders"}, 201),
        UnityReply(404, b"<html>no such site</html>"),
        UnityReply(403, b"<html>blocked by a proxy</html>"),
        UnityReply.no_route(),
        UnityReply.of({"error": "not an object"}, 404),
        UnityReply.of({"error_code": 404, "message": None}, 404),
        UnityReply.refusing("INVALID_ARGUMENT"),
    ],
)
async def test_what_is_no_answer_of_a_unity_catalog_makes_it_unavailable(
    unity: UnityServer, connected: Connected, reply: UnityReply
) -> None:
    unity.instead = lambda _: reply
    for ask in (connected().load_table("eu.orders"), connected().list_tables("eu")):
        with pytest.raises(Unavailable) as raised:
            await ask
        assert "127.0.0.1" not in raised.value.message
        assert "10.0.0.7" not in raised.value.message


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("TABLE_NOT_FOUND", NotFound),
        ("SCHEMA_NOT_FOUND", NotFound),
        ("CATALOG_NOT_FOUND", NotFound),
        ("PERMISSION_DENIED", NotFound),
        ("FAILED_PRECONDITION", Unavailable),
        ("INTERNAL", Unavailable),
    ],
)
async def test_errors_are_reported_in_the_gateways_own_words(
    unity: UnityServer, connected: Connected, code: str, found: type[NotFound | Unavailable]
) -> None:
    unity.instead = lambda _: UnityReply.refusing(code, INTERNAL)
    for ask in (connected().load_table("eu.orders"), connected().list_tables("eu")):
        with pytest.raises(found) as raised:
            await ask
        assert raised.value.message.startswith("the catalog 'lake'")
        assert "10.0.0.7" not in raised.value.message
        assert f"{code} {INTERNAL}" in (raised.value.detail or "")


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (UnityReply.refusing_delta("TABLE_NOT_FOUND", INTERNAL), NotFound),
        (UnityReply.refusing_delta("PERMISSION_DENIED", INTERNAL), NotFound),
        (UnityReply.refusing("PERMISSION_DENIED", INTERNAL), NotFound),
        (UnityReply.refusing("UNAUTHENTICATED", INTERNAL), Unavailable),
        (UnityReply.refusing_delta("INTERNAL", INTERNAL), Unavailable),
    ],
)
async def test_errors_of_the_delta_api_come_in_either_shape(
    unity: UnityServer, connected: Connected, reply: UnityReply, found: type[NotFound | Unavailable]
) -> None:
    unity.state.add(table_info("main.eu.orders", "file:///lake/m", table_type="MANAGED"))
    unity.instead = lambda asked: reply if "/delta/v1/" in asked.path else None
    with pytest.raises(found) as raised:
        await connected().load_table("eu.orders")
    assert INTERNAL in (raised.value.detail or "")
    assert INTERNAL not in raised.value.message


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_temporary_failure_is_requested_again(
    unity: UnityServer, connected: Connected, status: int
) -> None:
    failures = [UnityReply(status), UnityReply(status)]
    unity.instead = lambda _: failures.pop() if failures else None
    assert await connected().list_tables("eu") == ["orders"]
    assert len(unity.requests) == 3


async def test_what_does_not_pass_is_requested_three_times(
    unity: UnityServer, connected: Connected
) -> None:
    unity.instead = lambda _: UnityReply(503)
    with pytest.raises(Unavailable):
        await connected().list_tables("eu")
    assert len(unity.requests) == 3


@pytest.mark.parametrize("reply", [UnityReply.refusing("PERMISSION_DENIED"), UnityReply(302), HTML])
async def test_a_definite_response_is_not_requested_again(
    unity: UnityServer, connected: Connected, reply: UnityReply
) -> None:
    unity.instead = lambda _: reply
    with pytest.raises((NotFound, Unavailable)):
        await connected().list_tables("eu")
    assert len(unity.requests) == 1


async def test_a_server_that_wants_to_rest_is_left_alone(
    unity: UnityServer, connected: Connected
) -> None:
    unity.instead = lambda _: UnityReply(503, headers={"Retry-After": "60"})
    with pytest.raises(Unavailable):
        await connected().list_tables("eu")
    assert len(unity.requests) == 1


async def test_a_silent_server_is_given_up_in_time(
    silence: threading.Event, connected: Connected
) -> None:
    with pytest.raises(Unavailable, match="the catalog 'lake' does not respond") as raised:
        await connected(timeout=1).load_table("eu.orders")
    assert "no response within 1 seconds" in (raised.value.detail or "")
    assert not silence.is_set()


async def test_nobody_there_makes_it_unavailable(connected: Connected) -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{nobody_listens.getsockname()[1]}"
        with pytest.raises(Unavailable) as raised:
            await connected(uri=uri).list_schemas()
    assert "127.0.0.1" not in raised.value.message


async def test_answers_without_measure_are_given_up(unity: UnityServer, connected: Connected) -> None:
    giant = UnityReply(200, b'{"tables": "' + b"x" * 33 * 1024 * 1024 + b'"}')
    unity.instead = lambda _: giant
    with pytest.raises(Unavailable) as raised:
        await connected().list_tables("eu")
    assert "more than 33554432 bytes" in (raised.value.detail or "")


async def test_long_answers_are_read(unity: UnityServer, connected: Connected) -> None:
    unity.state.add(table_info("main.eu.orders", "file:///lake/o", comment="x" * 1_000_000))
    assert (await connected().load_table("eu.orders")).location == "file:///lake/o"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(
    unity: UnityServer, connected: Connected, status: int
) -> None:
    with UnityServer.start() as elsewhere:
        unity.instead = lambda asked: UnityReply(
            status, headers={"Location": f"{elsewhere.uri}{asked.path}"}
        )
        with pytest.raises(Unavailable):
            await connected(token=TOKEN).load_table("eu.orders")
        assert elsewhere.requests == []


async def test_a_cookie_is_not_kept(unity: UnityServer, connected: Connected) -> None:
    reply = UnityReply.of(unity.state.tables["main.eu.orders"])
    unity.instead = lambda _: UnityReply(200, reply.content, {"Set-Cookie": "session=theirs"})
    catalog = connected()
    for _ in range(2):
        await catalog.load_table("eu.orders")
    assert ["Cookie" in asked.headers for asked in unity.requests] == [False, False]


async def test_a_token_that_an_error_repeats_is_redacted(
    unity: UnityServer, connected: Connected
) -> None:
    unity.instead = lambda asked: UnityReply.refusing(
        "PERMISSION_DENIED", f"{asked.headers['Authorization']} may not"
    )
    with pytest.raises(NotFound) as raised:
        await connected(token=TOKEN).load_table("eu.orders")
    assert raised.value.detail is not None
    assert "Bearer … may not" in raised.value.detail
    assert TOKEN not in raised.value.detail


async def test_connections_are_bounded(unity: UnityServer, connected: Connected) -> None:
    running, most, lock = [0], [0], threading.Lock()
    enough = threading.Barrier(3, timeout=10)

    def watch(_: UnityRequest) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        enough.wait()
        with lock:
            running[0] -= 1

    unity.instead = watch
    catalog = connected(max_concurrency=3)
    await asyncio.gather(*(catalog.load_table("eu.orders") for _ in range(9)))
    assert most[0] == 3
