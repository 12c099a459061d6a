"""Reads request bodies, up to a limit."""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request

from sluicegate.api.errors import MalformedRequest, PayloadTooLarge


async def read_body(request: Request, limit: int) -> bytes:
    """The entire body."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise PayloadTooLarge(f"the body is larger than {limit} bytes")
    except ClientDisconnect:
        raise MalformedRequest("the body ended before its announced length") from None
    return bytes(body)
