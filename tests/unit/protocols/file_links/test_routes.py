"""The route of links: what it verifies, which storage it opens, and for whom a request counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import obstore
import pytest
from obstore.exceptions import BaseError, GenericError, PermissionDeniedError, PreconditionError
from obstore.store import MemoryStore
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from support.clients.asgi import Answer, ask

from sluicegate.api.errors import NotFound, SluicegateError, StorageError
from sluicegate.http.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitMiddleware
from sluicegate.http.limits import ConcurrencyLimits
from sluicegate.http.responses import error_response
from sluicegate.protocols.file_links import routes
from sluicegate.protocols.file_links.links import ContentLinks
from sluicegate.protocols.file_links.routes import as_domain_errors, content_routes, respond
from sluicegate.signing.keyring import KeyRing
from sluicegate_testing.fakes import MemoryStorage

KEY, OLD = bytes(range(32)), bytes(32)
ISSUED = 1_700_000_000
PATH = "eu/day=1/part 0#1.parquet"
CONTENT = b"0123456789"


@pytest.fixture
async def app() -> Starlette:
    """An application that serves one file of the storage `lake`, ten seconds after links are issued."""
    storage = MemoryStorage()
    await storage.put(f"memory://lake/{PATH}", CONTENT)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, SluicegateError)
        return error_response(error)

    return Starlette(
        routes=content_routes({"lake": storage}.get, KeyRing((KEY, OLD)), lambda: ISSUED + 10),
        exception_handlers={SluicegateError: refused},
    )


def link(path: str = PATH, *, storage: str = "lake", key: bytes = KEY, expires_in: int = 60) -> str:
    """Path and query of a link."""
    links = ContentLinks(key, "https://gateway.example", storage, lambda: ISSUED)
    (url,) = links.sign([path], expires_in).urls
    split = urlsplit(url)
    return f"{split.path}?{split.query}"


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["errorCode"]


@pytest.mark.parametrize("key", [KEY, OLD])
async def test_a_link_of_each_valid_key_is_served(app: Starlette, key: bytes) -> None:
    answer = await ask(app, link(key=key))
    assert (answer.status, answer.body) == (200, CONTENT)


async def test_ranges_and_head_are_served(app: Starlette) -> None:
    part = await ask(app, link(), {"range": "bytes=2-4"})
    head = await ask(app, link(), method="HEAD")
    assert (part.status, part.body) == (206, b"234")
    assert (head.status, head.headers["content-length"]) == (200, "10")


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "OPTIONS"])
async def test_a_link_reads_and_nothing_else(app: Starlette, method: str) -> None:
    assert (await ask(app, link(), method=method)).status == 405


@pytest.mark.parametrize(
    "target",
    [
        link(key=b"\1" * 32),
        link().partition("?")[0],
        link() + "&X-Amz-Extra=1",
        link().replace("/lake/", "/other/"),
        link().replace("day=1", "day=2"),
        link().replace("Expires=60", "Expires=61"),
    ],
)
async def test_a_link_that_was_not_signed_so_is_refused(app: Starlette, target: str) -> None:
    assert refusal(await ask(app, target)) == (403, "PERMISSION_DENIED")


@pytest.mark.parametrize(("lifetime", "status"), [(10, 403), (11, 200)])
async def test_a_link_ends_with_its_lifetime(app: Starlette, lifetime: int, status: int) -> None:
    assert (await ask(app, link(expires_in=lifetime))).status == status


@pytest.mark.parametrize("target", [link(storage="retired"), link(""), link("eu/gone.parquet")])
async def test_what_is_not_there_is_not_found(app: Starlette, target: str) -> None:
    answer = await ask(app, target)
    assert refusal(answer) == (404, "RESOURCE_DOES_NOT_EXIST")
    assert b"retired" not in answer.body


async def test_the_root_of_a_storage_is_no_file(app: Starlette) -> None:
    answer = await ask(app, link(""))
    assert answer.json["message"] == "the storage of this link is no longer served"


async def test_a_request_is_verified_before_it_waits_for_a_slot(app: Starlette) -> None:
    limit = ConcurrencyLimit(ConcurrencyLimits(max_requests=1, queue_timeout=0))
    limited = ConcurrencyLimitMiddleware(app, limit)
    assert (await ask(limited, link())).status == 200
    assert limit.enter_now("other")  # the request has released its slot
    assert refusal(await ask(limited, link())) == (503, "TEMPORARILY_UNAVAILABLE")
    assert refusal(await ask(limited, link(key=b"\1" * 32))) == (403, "PERMISSION_DENIED")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """A store with one object, which is read in chunks of four bytes."""
    monkeypatch.setattr(routes, "CHUNK_SIZE", 4)
    made = MemoryStore()
    made.put("t/a", CONTENT)
    return made


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The ranges that are read."""
    ranges: list[tuple[int, int]] = []
    get = obstore.get_async

    async def recorded(store: Any, key: str, *, options: Any) -> Any:
        ranges.append(options["range"])
        return await get(store, key, options=options)

    monkeypatch.setattr(obstore, "get_async", recorded)
    return ranges


def serving(
    store: MemoryStore, before_body: Callable[[], Awaitable[object]] | None = None
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """An application that responds with the object."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response: Response = await respond(store, "t/a", request.method, request.headers)
        if before_body is not None:
            await before_body()
        await response(scope, receive, send)

    return app


async def test_an_object_is_read_chunk_by_chunk(
    store: MemoryStore, reads: list[tuple[int, int]]
) -> None:
    answer = await ask(serving(store), "/")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, CONTENT, "10")
    assert reads == [(0, 4), (4, 8), (8, 10)]


async def test_only_the_bytes_of_a_range_are_read(
    store: MemoryStore, reads: list[tuple[int, int]]
) -> None:
    answer = await ask(serving(store), "/", {"range": "bytes=3-8"})
    assert (answer.status, answer.body) == (206, CONTENT[3:9])
    assert answer.headers["content-range"] == "bytes 3-8/10"
    assert reads == [(3, 7), (7, 9)]


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [("HEAD", {}, 200), ("GET", {"range": "bytes=10-"}, 416), ("GET", {"if-match": '"no"'}, 412)],
)
async def test_without_selected_bytes_nothing_is_read(
    store: MemoryStore,
    reads: list[tuple[int, int]],
    method: str,
    headers: dict[str, str],
    status: int,
) -> None:
    answer = await ask(serving(store), "/", headers, method=method)
    assert (answer.status, reads) == (status, [])


async def test_an_empty_object_has_an_empty_body(store: MemoryStore) -> None:
    store.put("t/a", b"")
    answer = await ask(serving(store), "/")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "0")


async def test_a_missing_object_is_not_found() -> None:
    with pytest.raises(NotFound, match="the file of this link no longer exists"):
        await respond(MemoryStore(), "t/a", "GET", {})


async def test_an_object_that_is_replaced_while_it_is_opened_is_an_error(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = obstore.head_async

    async def replaced(store: Any, key: str) -> Any:
        meta = await head(store, key)
        store.put(key, b"other bytes")
        return meta

    monkeypatch.setattr(obstore, "head_async", replaced)
    with pytest.raises(StorageError, match="the file changed while it was opened"):
        await respond(store, "t/a", "GET", {})


@pytest.mark.parametrize(
    "change", [lambda store: store.put("t/a", b"x" * 10), lambda store: store.delete("t/a")]
)
async def test_an_object_that_changes_below_a_stream_is_cut_and_not_mixed(
    store: MemoryStore, change: Callable[[MemoryStore], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def changed() -> None:
        change(store)

    answer = await ask(serving(store, changed), "/")
    assert (answer.status, answer.body) == (200, CONTENT[:4])
    assert "a file could not be read to its end" in caplog.text


@pytest.mark.parametrize(
    ("failure", "expected", "message"),
    [
        (FileNotFoundError("s3://lake/t/a"), NotFound, "no longer exists: query the table again"),
        (PreconditionError("etag"), StorageError, "changed while it was opened"),
        (PermissionDeniedError("key AKIA"), StorageError, "cannot be read now"),
        (GenericError("timeout"), StorageError, "cannot be read now"),
        (OSError(5, "input/output"), StorageError, "cannot be read now"),
        (ValueError("a path with .."), StorageError, "cannot be read now"),
    ],
)
def test_failures_of_a_store_are_private(
    failure: BaseError | OSError, expected: type[SluicegateError], message: str
) -> None:
    with pytest.raises(expected, match=message) as raised, as_domain_errors():
        raise failure
    assert str(failure) not in raised.value.message
    assert raised.value.detail in (None, str(failure))


def test_other_errors_are_not_converted() -> None:
    with pytest.raises(KeyError), as_domain_errors():
        raise KeyError("a defect of the gateway")
