"""The last line of an answer (delta-sharing-protocol.md, "EndStreamAction")."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from sluicegate.errors import SluicegateError
from sluicegate.http.responses import log_error
from sluicegate.sharing.lines import line, present


def end_stream(
    *,
    refresh_token: str | None = None,
    next_page_token: str | None = None,
    expires_at: int | None = None,
) -> bytes:
    """The line of an answer that came to its end.

    Args:
        refresh_token: Re-signs the same version later.
        next_page_token: There is more.
        expires_at: When the first of the answer's URLs expires, epoch milliseconds.
    """
    value = present(
        refreshToken=refresh_token,
        nextPageToken=next_page_token,
        minUrlExpirationTimestamp=expires_at,
    )
    return line({"endStreamAction": value})


async def ended(lines: AsyncIterator[bytes], last: Callable[[], bytes] | None) -> AsyncIterator[bytes]:
    """The lines with their last one; when they break midway, it tells the client so.

    Args:
        lines: The answer without its end.
        last: Makes the last line; `None` where the client did not ask for one: then a break is a
            connection that ends too early, as nothing else could be understood.
    """
    if last is None:
        async for part in lines:
            yield part
        return
    try:
        async for part in lines:
            yield part
    except SluicegateError as error:
        log_error(error)
        yield line(
            {
                "endStreamAction": {
                    "errorMessage": error.message,
                    "httpStatusErrorCode": error.status,
                }
            }
        )
    else:
        yield last()
