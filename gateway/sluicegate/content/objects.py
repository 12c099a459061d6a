"""Answers a GET or HEAD with the bytes of one object, streamed in chunks."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager

import obstore
from obstore.exceptions import BaseError, PreconditionError
from obstore.store import ObjectStore
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from sluicegate.content.conditions import Outcome, UnsatisfiableRange, Validators, wanted_range
from sluicegate.errors import NotFound, StorageError
from sluicegate.responses import json_response
from sluicegate.telemetry import span

CHUNK_SIZE = 1 << 20  # bytes; at most two chunks of a request are in memory

_logger = logging.getLogger(__name__)


async def respond(store: ObjectStore, key: str, method: str, headers: Mapping[str, str]) -> Response:
    """The response to a GET or HEAD of an object.

    Raises:
        NotFound: The object does not exist.
        StorageError: The store cannot be read.
    """
    with span("content.head"), as_domain_errors():
        meta = await obstore.head_async(store, key)
    size, validators = meta["size"], Validators(meta["e_tag"], meta["last_modified"])
    described = _describe(validators)
    outcome = validators.check(headers)
    if outcome is Outcome.NOT_MODIFIED:
        return Response(status_code=304, headers=described)
    if outcome is Outcome.FAILED:
        return _refusal(
            412, "PRECONDITION_FAILED", "the file is not in the state that the request names"
        )
    if method == "HEAD":
        return Response(headers=described | {"Content-Length": str(size)})
    try:
        part = wanted_range(headers.get("range"), size) if validators.allow_range(headers) else None
    except UnsatisfiableRange:
        return _refusal(
            416,
            "RANGE_NOT_SATISFIABLE",
            f"the file has {size} bytes",
            {"Content-Range": f"bytes */{size}"},
        )
    return await _stream(store, key, size, validators, part)


async def _stream(
    store: ObjectStore, key: str, size: int, validators: Validators, part: tuple[int, int] | None
) -> Response:
    start, end = part or (0, size)
    headers = _describe(validators) | {"Content-Length": str(end - start)}
    if part:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    chunks = _chunks(store, key, validators.etag, range(start, end, CHUNK_SIZE), end)
    with span("content.get", bytes=end - start), as_domain_errors():
        first = await anext(chunks, b"")  # what fails at once is still answered as an error
    return _ObjectResponse(_all(first, chunks), 206 if part else 200, headers)


async def _chunks(
    store: ObjectStore, key: str, etag: str | None, offsets: range, end: int
) -> AsyncIterator[bytes]:
    """Read chunk after chunk, each of the same state of the object.

    One `GetResult.stream` would be shorter, but over local files it spins for ever when a file shrinks
    below it, and it reads 8 KiB at a time.
    """
    for offset in offsets:
        part = (offset, min(offset + offsets.step, end))
        result = await obstore.get_async(store, key, options={"range": part, "if_match": etag})
        yield (await result.bytes_async()).to_bytes()


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


class _ObjectResponse(StreamingResponse):
    """A stream that is cut where the store fails, so that nobody takes the beginning for the whole."""

    async def stream_response(self, send: Send) -> None:
        try:
            await super().stream_response(send)
        except (BaseError, OSError) as error:
            _logger.warning("a file could not be read to its end: %s", type(error).__name__)


def _describe(validators: Validators) -> dict[str, str]:
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream",
        "Last-Modified": validators.last_modified,
        "X-Content-Type-Options": "nosniff",
    }
    return headers | ({"ETag": validators.etag} if validators.etag else {})


def _refusal(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    return json_response({"errorCode": code, "message": message}, status, headers)


@contextmanager
def as_domain_errors() -> Iterator[None]:
    """Tell what a store says in the words of this door."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(
            "the file of this link does not exist any more: query the table again"
        ) from error
    except PreconditionError as error:
        raise StorageError("the file changed while it was opened: try again") from error
    except (BaseError, ValueError, OSError) as error:
        raise StorageError("the file of this link cannot be read now", detail=str(error)) from error
