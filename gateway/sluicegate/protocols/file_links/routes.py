"""The route of file links: GET and HEAD of one object through a signed link, also in ranges."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager

from obstore.exceptions import BaseError, PreconditionError
from obstore.store import ObjectStore
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Send

from sluicegate.api import Storage
from sluicegate.api.errors import NotFound, StorageError
from sluicegate.audit.trail import note_claim, note_resource
from sluicegate.http.concurrency_limit import slots_of
from sluicegate.protocols.file_links.conditions import Validators
from sluicegate.protocols.file_links.links import verify
from sluicegate.protocols.file_links.responses import SelectedBytes, select_bytes
from sluicegate.signing.keyring import KeyRing
from sluicegate.telemetry import span

CHUNK_SIZE = 1 << 20  # bytes; at most two chunks of a request are in memory

_logger = logging.getLogger(__name__)


async def respond(store: ObjectStore, key: str, method: str, headers: Mapping[str, str]) -> Response:
    """The response to a GET or HEAD of an object."""
    with span("content.head"), as_domain_errors():
        meta = await store.head_async(key)
    validators = Validators(meta["e_tag"], meta["last_modified"])
    found = select_bytes(meta["size"], validators, method, headers)
    if isinstance(found, Response):
        return found
    return await _stream(store, key, validators.etag, found)


async def _stream(store: ObjectStore, key: str, etag: str | None, part: SelectedBytes) -> Response:
    chunks = _chunks(store, key, etag, range(part.start, part.end, CHUNK_SIZE), part.end)
    with span("content.get", bytes=part.end - part.start), as_domain_errors():
        first = await anext(chunks, b"")  # an immediate failure is still returned as an error
    return _ObjectResponse(_all(first, chunks), part.status, part.headers)


async def _chunks(
    store: ObjectStore, key: str, etag: str | None, offsets: range, end: int
) -> AsyncIterator[bytes]:
    """Read chunk after chunk, each from the same state of the object.

    One `GetResult.stream` would be shorter. Over local files, however, it loops forever if a file
    shrinks below it, and it reads 8 KiB at a time.
    """
    for offset in offsets:
        part = (offset, min(offset + offsets.step, end))
        result = await store.get_async(key, options={"range": part, "if_match": etag})
        yield (await result.bytes_async()).to_bytes()


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


class _ObjectResponse(StreamingResponse):
    """A stream that breaks off if the store fails, so that clients detect the incomplete response."""

    async def stream_response(self, send: Send) -> None:
        try:
            await super().stream_response(send)
        except (BaseError, OSError) as error:
            _logger.warning("a file could not be read to its end: %s", type(error).__name__)


@contextmanager
def as_domain_errors() -> Iterator[None]:
    """Convert errors of a store into errors of this protocol."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound("the file of this link no longer exists: query the table again") from error
    except PreconditionError as error:
        raise StorageError("the file changed while it was opened: try again") from error
    except (BaseError, ValueError, OSError) as error:
        raise StorageError("the file of this link cannot be read now", detail=str(error)) from error


def content_routes(
    resolve: Callable[[str], Storage | None], keys: KeyRing, clock: Callable[[], float] = time.time
) -> list[Route]:
    """Routes that serve what `ContentLinks` signed, without a bearer token: links are credentials."""

    async def content(request: Request) -> Response:
        name, path = request.path_params["storage"], request.path_params["path"]
        note_claim("link")
        note_resource(f"{name}/{path}")
        verify(keys, name, path, request.url.query, clock())
        slots = slots_of(request.scope)
        if slots is not None:
            await slots.enter(None)
        storage = resolve(name)
        if storage is None or not path:
            raise NotFound("the storage of this link is no longer served", detail=name)
        with span("content.open", storage=name):
            opened = await storage.open(storage.prefix + path)
        return await respond(opened.store, opened.key(""), request.method, request.headers)

    return [Route("/content/{storage}/{path:path}", content, methods=["GET", "HEAD"], name="content")]
