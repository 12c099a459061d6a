"""Reads the bodies of requests, up to a limit."""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request

from sluicegate.errors import MalformedRequest, PayloadTooLarge


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body.

    Args:
        request: Its body was not read yet.
        limit: Most bytes that are read.

    Raises:
        PayloadTooLarge: It is longer.
        MalformedRequest: The client went away before its end.
    """
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise PayloadTooLarge(f"the body is larger than {limit} bytes")
    except ClientDisconnect:
        raise MalformedRequest("the body ended before its announced length") from None
    return bytes(body)
