"""What plugins ask other servers with, against a server on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from sluicegate.api import (
    AccessTokens,
    AuthorizedClient,
    HttpClient,
    HttpRequest,
    NoResponse,
    OAuth2Client,
    OutcomeUnknown,
    SecretStr,
    Unavailable,
)
from sluicegate_testing.servers.catalog_http import Reply, Request, serve

FINE = Reply(200, {"fine": True})
CUT = Reply.cut()
SLOW = Reply(200, {"slow": True})


@dataclass
class Server:
    """Gives its replies in order, the last one again and again; at `/token` numbered tokens."""

    uri: str = ""
    replies: list[Reply] = field(default_factory=lambda: [FINE])
    asked: list[Request] = field(default_factory=list)
    tokens: int = 0
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: Request) -> Reply:
        if request.path == "/token":
            self.tokens += 1
            return Reply(200, {"access_token": f"token-{self.tokens}", "expires_in": "3600"})
        self.asked.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if reply is SLOW:
            self.released.wait(10)
            return CUT
        return reply


@pytest.fixture
def server() -> Iterator[Server]:
    stand_in = Server()

    def made(port: int) -> Callable[[Request], Reply]:
        stand_in.uri = f"http://127.0.0.1:{port}"
        return stand_in.answer

    with serve(made):
        yield stand_in


@pytest_asyncio.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient(timeout=5, connections=2, longest=100_000, pauses=(0.01, 0.01))
    yield client
    await client.aclose()


def tokens_of(server: Server, http: HttpClient) -> AccessTokens:
    client = OAuth2Client(client_id="gate", client_secret=SecretStr("s3cret"))

    async def grant() -> HttpRequest:
        return await client.grant(f"{server.uri}/token")

    return AccessTokens(http, grant, "the server", margin=60)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_temporary_failure_is_requested_again(
    server: Server, http: HttpClient, status: int
) -> None:
    server.replies = [Reply(status), Reply(status, headers={"Retry-After": "0"}), FINE]
    assert (await http.send(HttpRequest("GET", server.uri))).status == 200
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("reply", "times"),
    [
        (Reply(503), 3),
        (Reply(503, headers={"Retry-After": "60"}), 1),
        (Reply(503, headers={"Retry-After": "tomorrow"}), 3),
        (Reply(503, headers={"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}), 1),
        (Reply(503, headers={"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"}), 3),
        (Reply(500), 1),
        (Reply(404), 1),
        (Reply(302, headers={"Location": "/elsewhere"}), 1),
    ],
)
async def test_how_often_it_is_requested(
    server: Server, http: HttpClient, reply: Reply, times: int
) -> None:
    server.replies = [reply]
    assert (await http.send(HttpRequest("GET", server.uri))).status == reply.status
    assert len(server.asked) == times


async def test_an_answer_without_measure_is_none(server: Server, http: HttpClient) -> None:
    server.replies = [Reply(200, b"x" * 100_001)]
    with pytest.raises(NoResponse, match="more than 100000 bytes"):
        await http.send(HttpRequest("GET", server.uri))


async def test_the_length_that_an_answer_to_head_names_is_not_its_own(http: HttpClient) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        found = await http.send(HttpRequest("HEAD", f"http://{host}:{port}/object"))
    assert (found.status, found.content) == (200, b"")
    assert found.headers["Content-Length"] == "5000000000"


async def test_nobody_there_is_no_answer(http: HttpClient) -> None:
    with pytest.raises(NoResponse, match="GET http://127"):
        await http.send(HttpRequest("GET", "http://127.0.0.1:9"))


async def test_cookies_are_not_kept(server: Server, http: HttpClient) -> None:
    server.replies = [Reply(200, b"", {"Set-Cookie": "session=theirs"})]
    for _ in range(2):
        await http.send(HttpRequest("GET", server.uri))
    assert ["cookie" in asked.headers for asked in server.asked] == [False, False]


async def test_a_refused_token_is_renewed_once_and_the_request_repeated_once(
    server: Server, http: HttpClient
) -> None:
    server.replies = [Reply(401), FINE]
    client = AuthorizedClient(http, tokens_of(server, http))
    assert (await client.send(HttpRequest("GET", server.uri, {"X-Own": "kept"}))).status == 200
    shown = [(asked.headers["authorization"], asked.headers["x-own"]) for asked in server.asked]
    assert shown == [("Bearer token-1", "kept"), ("Bearer token-2", "kept")]


@pytest.mark.parametrize("given", [None, SecretStr("given")])
async def test_what_cannot_be_renewed_is_not_used_again(
    server: Server, http: HttpClient, given: SecretStr | None
) -> None:
    server.replies = [Reply(401)]
    assert (await AuthorizedClient(http, given).send(HttpRequest("GET", server.uri))).status == 401
    assert len(server.asked) == 1
    assert ("authorization" in server.asked[0].headers) == (given is not None)


async def test_a_token_that_an_error_repeats_is_taken_out(server: Server, http: HttpClient) -> None:
    server.replies = [Reply(403)]
    client = AuthorizedClient(http, SecretStr("given"))
    answer = await client.send(HttpRequest("GET", server.uri))
    assert answer.redacted("'given' may not") == "'…' may not"
    assert "given" not in repr(answer)


async def test_a_missing_token_endpoint_is_reported_without_its_message(http: HttpClient) -> None:
    tokens = tokens_of(Server("http://127.0.0.1:9"), http)
    with pytest.raises(Unavailable, match="cannot sign in to the server now"):
        await tokens.get()


async def test_a_long_answer_is_parsed_apart(server: Server, http: HttpClient) -> None:
    server.replies = [Reply(200, ["x" * 90_000])]
    answer = await http.send(HttpRequest("GET", f"{server.uri}/"))
    parsing = await answer.parsed(lambda _: threading.current_thread())
    assert parsing is not threading.current_thread()


async def test_an_answer_of_too_many_values_is_none(server: Server) -> None:
    client = HttpClient(timeout=20, connections=2, longest=50_000_000)
    server.replies = [Reply(200, b"[" + b"0," * 10_000_001 + b"0]")]
    answer = await client.send(HttpRequest("GET", f"{server.uri}/"))
    with pytest.raises(NoResponse, match="JSON values"):
        await answer.parsed(json.loads)
    await client.aclose()


async def test_large_answers_come_one_after_the_other(server: Server) -> None:
    client = HttpClient(timeout=20, connections=8, longest=50_000_000)
    body = b" " * 6_000_000
    server.replies = [Reply(200, body)]
    request = HttpRequest("GET", f"{server.uri}/")
    answers = await asyncio.gather(*(client.send(request) for _ in range(8)))
    assert [answer.content for answer in answers] == [body] * 8
    await client.aclose()


LOST = [Reply(502), Reply(504), Reply(503), CUT]


@pytest.mark.parametrize("reply", LOST)
async def test_a_request_that_may_have_been_applied_is_not_repeated(
    server: Server, http: HttpClient, reply: Reply
) -> None:
    server.replies = [reply, FINE]
    with pytest.raises(OutcomeUnknown, match="POST http://127"):
        await http.send(HttpRequest("POST", server.uri, json={}))
    assert len(server.asked) == 1


@pytest.mark.parametrize("reply", LOST)
async def test_a_request_declared_idempotent_is_repeated(
    server: Server, http: HttpClient, reply: Reply
) -> None:
    server.replies = [reply, FINE]
    answer = await http.send(HttpRequest("POST", server.uri, json={}, idempotent=True))
    assert (answer.status, len(server.asked)) == (200, 2)


@pytest.mark.parametrize("reply", [Reply(429), Reply(503, headers={"Retry-After": "0"})])
async def test_a_request_that_was_refused_without_effect_is_repeated(
    server: Server, http: HttpClient, reply: Reply
) -> None:
    server.replies = [reply, FINE]
    assert (await http.send(HttpRequest("POST", server.uri, json={}))).status == 200
    assert len(server.asked) == 2


async def test_the_servers_own_failure_is_an_answer(server: Server, http: HttpClient) -> None:
    server.replies = [Reply(500), FINE]
    assert (await http.send(HttpRequest("POST", server.uri, json={}))).status == 500
    assert len(server.asked) == 1


async def test_an_answer_that_cannot_be_read_leaves_the_outcome_unknown(
    server: Server, http: HttpClient
) -> None:
    server.replies = [Reply(200, b"x" * 100_001)]
    with pytest.raises(OutcomeUnknown, match="more than 100000 bytes"):
        await http.send(HttpRequest("POST", server.uri, json={}))


async def test_a_request_that_never_left_has_a_known_outcome(http: HttpClient) -> None:
    with pytest.raises(NoResponse) as failed:
        await http.send(HttpRequest("POST", "http://127.0.0.1:9", json={}))
    assert not isinstance(failed.value, OutcomeUnknown)


async def test_a_request_without_an_answer_in_time_has_an_unknown_outcome(server: Server) -> None:
    client = HttpClient(timeout=0.1, connections=1, longest=1000)
    server.replies = [SLOW]
    with pytest.raises(OutcomeUnknown, match=r"no response within 0\.1 seconds"):
        await client.send(HttpRequest("PATCH", server.uri, json={}))
    server.released.set()
    await client.aclose()


@pytest.mark.parametrize(("idempotent", "times"), [(False, 2), (None, 3)])
async def test_nobody_else_repeats_a_request_on_a_connection_that_was_kept(
    server: Server, http: HttpClient, *, idempotent: bool | None, times: int
) -> None:
    """The library repeats a DELETE on its own account after a lost connection."""
    server.replies = [FINE, CUT, FINE]
    await http.send(HttpRequest("GET", server.uri))
    request = HttpRequest("DELETE", server.uri, idempotent=idempotent)
    if idempotent is None:
        assert (await http.send(request)).status == 200
    else:
        with pytest.raises(OutcomeUnknown):
            await http.send(request)
    assert len(server.asked) == times
