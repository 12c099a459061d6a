"""What is answered around the bytes of a GET or HEAD, wherever they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from sluicegate.content.conditions import Outcome, UnsatisfiableRange, Validators, wanted_range
from sluicegate.http.responses import NOT_STORED, json_response


@dataclass(frozen=True, slots=True)
class Wanted:
    """The bytes that a request wants: status and headers of the answer that carries them.

    Attributes:
        start: The first byte.
        end: Behind the last one.
    """

    start: int
    end: int
    status: int
    headers: Mapping[str, str]


def wanted(
    size: int, validators: Validators, method: str, headers: Mapping[str, str]
) -> Wanted | Response:
    """What a GET wants of a file, or the whole answer where that has no bytes of it.

    Args:
        size: Of the file, in bytes.
        validators: Of its state.
        method: `GET` or `HEAD`.
        headers: Of the request.
    """
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
    start, end = part or (0, size)
    described["Content-Length"] = str(end - start)
    if part is None:
        return Wanted(start, end, 200, described)
    return Wanted(start, end, 206, described | {"Content-Range": f"bytes {start}-{end - 1}/{size}"})


def respond_bytes(
    content: bytes, validators: Validators, method: str, headers: Mapping[str, str]
) -> Response:
    """The response to a GET or HEAD of a file that is in memory."""
    found = wanted(len(content), validators, method, headers)
    if isinstance(found, Response):
        return found
    part = memoryview(content)[found.start : found.end]
    return Response(part, found.status, headers=found.headers)


def _describe(validators: Validators) -> dict[str, str]:
    told = {"ETag": validators.etag, "Last-Modified": validators.last_modified}
    return {
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream",
        "X-Content-Type-Options": "nosniff",
        **NOT_STORED,
        **{name: value for name, value in told.items() if value is not None},
    }


def _refusal(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    return json_response(
        {"errorCode": code, "message": message}, status, {**NOT_STORED, **(headers or {})}
    )
