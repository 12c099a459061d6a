"""Objects of a store are streamed in chunks of one state, and failures of the store are errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import obstore
import pytest
from obstore.exceptions import BaseError, GenericError, PermissionDeniedError, PreconditionError
from obstore.store import MemoryStore
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from support.clients.asgi import ask

from sluicegate.api.errors import NotFound, SluicegateError, StorageError
from sluicegate.protocols.file_links import objects
from sluicegate.protocols.file_links.objects import as_domain_errors, respond

CONTENT = b"0123456789"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """A store with one object, which is read in chunks of four bytes."""
    monkeypatch.setattr(objects, "CHUNK_SIZE", 4)
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
