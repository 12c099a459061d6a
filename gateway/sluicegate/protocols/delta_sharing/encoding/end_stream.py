"""The last line of a response (Delta Sharing protocol, "EndStreamAction")."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from sluicegate.api.errors import SluicegateError
from sluicegate.http.responses import log_error
from sluicegate.protocols.delta_sharing.encoding.ndjson import line, present


def end_stream(
    *,
    refresh_token: str | None = None,
    next_page_token: str | None = None,
    expires_at: int | None = None,
) -> bytes:
    """The last line of a complete response.

    Args:
        refresh_token: Re-signs the same version later.
        next_page_token: Token of the next page, if there is one.
        expires_at: Expiry of the first of the response's URLs, in epoch milliseconds.
    """
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
        lines: The response without its last line.
        last: Builds the last line. `None` if the client did not request one. In that case, a failure
            closes the connection early, because the client would not understand anything else.
        finish: Encodes the last line of encoded lines. Called with `b""` if there is none.
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
