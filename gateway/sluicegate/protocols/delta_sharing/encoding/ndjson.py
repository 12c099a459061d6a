"""Functions that both response formats share to join columns into NDJSON lines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from sluicegate.api import Presigned, SignedPaths
from sluicegate.api.errors import SluicegateError
from sluicegate.http.responses import log_error
from sluicegate.protocols.joined_columns import JoinedColumns


@dataclass(frozen=True, slots=True)
class VersionStamp:
    """The version that time travel requested; files then carry it."""

    version: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class TableTotals:
    """Total size in bytes and number of the files that the recipient can see."""

    size: int
    files: int


def urls(presigned: Presigned) -> JoinedColumns:
    """URLs as JSON strings."""
    return JoinedColumns.of([orjson.dumps(url) for url in presigned.urls])


def signed_urls(paths: Sequence[bytes], signed: SignedPaths) -> JoinedColumns:
    """URLs as JSON strings, from their parts."""
    start, middle = (orjson.dumps(text)[1:-1] for text in (signed.start, signed.middle))
    signatures = "\n".join(signed.signatures).encode().split(b"\n") if paths else []
    return JoinedColumns((b'"' + start, middle, b'"'), (paths, signatures))


def line(value: Mapping[str, Any]) -> bytes:
    """One NDJSON line. Keys without a value are omitted."""
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def present(**values: Any) -> dict[str, Any]:
    """The values that are not `None`."""
    return {key: value for key, value in values.items() if value is not None}


def escape(texts: Sequence[str]) -> list[str]:
    """Each text as a JSON string, quotes included."""
    dumps = orjson.dumps
    return [dumps(text).decode() for text in texts]


def optional(column: Sequence[str | None], key: str) -> list[str]:
    """For each text, a JSON member `,"key":"text"`, or nothing if it is null."""
    dumps = orjson.dumps
    head = f',"{key}":'
    return [head + dumps(text).decode() if text is not None else "" for text in column]


def expiration(signed: Presigned | SignedPaths) -> str:
    """For each file, the JSON member with the expiry of its URL in epoch milliseconds."""
    return f',"expirationTimestamp":{signed.expires_at}'


def travelled(at: VersionStamp | None) -> str:
    """The JSON members that a file carries in responses to time travel."""
    return "" if at is None else f',"version":{at.version},"timestamp":{at.timestamp}'


def end_stream(
    *,
    refresh_token: str | None = None,
    next_page_token: str | None = None,
    expires_at: int | None = None,
) -> bytes:
    """The last line of a complete response."""
    value = present(
        refreshToken=refresh_token,
        nextPageToken=next_page_token,
        minUrlExpirationTimestamp=expires_at,
    )
    return line({"endStreamAction": value})


def _plain(tail: bytes) -> bytes:
    return tail


async def ended(
    lines: AsyncIterator[bytes],
    last: Callable[[], bytes] | None,
    finish: Callable[[bytes], bytes] = _plain,
) -> AsyncIterator[bytes]:
    """The lines with the last line appended. If they fail midway, the last line reports the error.

    Args:
        last: Builds the last line. `None` if the client did not request one. In that case, a failure
            closes the connection early, because the client would not understand anything else.
    """
    if last is None:
        async for part in lines:
            yield part
        if end := finish(b""):
            yield end
        return
    try:
        async for part in lines:
            yield part
    except SluicegateError as error:
        log_error(error)
        yield finish(_failed(error))
    else:
        yield finish(last())


def _failed(error: SluicegateError) -> bytes:
    action = {"errorMessage": error.message, "httpStatusErrorCode": error.status}
    return line({"endStreamAction": action})
