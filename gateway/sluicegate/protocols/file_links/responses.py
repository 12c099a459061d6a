"""Status and headers of the response to a GET or HEAD, independent of the source of the bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from sluicegate.http.responses import NOT_STORED, json_response
from sluicegate.protocols.file_links.conditions import (
    Outcome,
    UnsatisfiableRange,
    Validators,
    requested_range,
)


@dataclass(frozen=True, slots=True)
class SelectedBytes:
    """The bytes that a request selects, with the status and headers of the response.

    Attributes:
        start: The first byte.
        end: The position after the last byte.
    """

    start: int
    end: int
    status: int
    headers: Mapping[str, str]


def select_bytes(
    size: int, validators: Validators, method: str, headers: Mapping[str, str]
) -> SelectedBytes | Response:
    """The bytes of a file that a GET selects, or a complete response if it selects none."""
    described = _describe(validators)
    outcome = validators.check(headers)
    if outcome is Outcome.NOT_MODIFIED:
        return Response(status_code=304, headers=described)
    if outcome is Outcome.FAILED:
        return _refusal(
            412, "PRECONDITION_FAILED", "the file does not match the precondition of the request"
        )
    if method == "HEAD":
        return Response(headers=described | {"Content-Length": str(size)})
    try:
        part = requested_range(headers.get("range"), size) if validators.allow_range(headers) else None
    except UnsatisfiableRange:
        return _refusal(
            416,
            "RANGE_NOT_SATISFIABLE",
            f"the file has {size} bytes",
            {"Content-Range": f"bytes */{size}"},
        )
    start, end = part or (0, size)
    described["Content-Length"] = str(end - start)
    if part is None:
        return SelectedBytes(start, end, 200, described)
    return SelectedBytes(
        start, end, 206, described | {"Content-Range": f"bytes {start}-{end - 1}/{size}"}
    )


def respond_bytes(
    content: bytes, validators: Validators, method: str, headers: Mapping[str, str]
) -> Response:
    """The response to a GET or HEAD of a file that is in memory."""
    found = select_bytes(len(content), validators, method, headers)
    if isinstance(found, Response):
        return found
    part = memoryview(content)[found.start : found.end]
    return Response(part, found.status, headers=found.headers)


def _describe(validators: Validators) -> dict[str, str]:
    known = {"ETag": validators.etag, "Last-Modified": validators.last_modified}
    return {
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream",
        "X-Content-Type-Options": "nosniff",
        **NOT_STORED,
        **{name: value for name, value in known.items() if value is not None},
    }


def _refusal(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    return json_response(
        {"errorCode": code, "message": message}, status, {**NOT_STORED, **(headers or {})}
    )
