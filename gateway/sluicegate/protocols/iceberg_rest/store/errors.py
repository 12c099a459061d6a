"""Errors of the store, in the format of S3 (Amazon S3 API reference, "Error responses")."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from sluicegate.api.errors import (
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    ObjectMissing,
    PayloadTooLarge,
    PermissionDenied,
    RateLimited,
    SluicegateError,
    StorageDenied,
    TableUnreadable,
    Unauthenticated,
    Unavailable,
)
from sluicegate.http.responses import NOT_STORED, RETRY_AFTER_SECONDS, sent_error
from sluicegate.protocols.iceberg_rest.file_access.store_endpoint import XML, error_document

DENIED: Final = "AccessDenied"
_BY_STATUS = {412: "PreconditionFailed", 416: "InvalidRange"}
# The first that an error is an instance of decides. Clients repeat a request after `SlowDown`.
_CODES: tuple[tuple[type[SluicegateError], str, int], ...] = (
    (StorageDenied, DENIED, 403),
    (RateLimited, "SlowDown", 503),
    (Unavailable, "SlowDown", 503),
    (NotFound, "NoSuchKey", 404),
    (ObjectMissing, "NoSuchKey", 404),
    (PermissionDenied, DENIED, 403),
    (Unauthenticated, DENIED, 403),
    (InvalidRequest, "InvalidRequest", 400),
    (TableUnreadable, "InvalidRequest", 400),
    (PayloadTooLarge, "InvalidRequest", 400),
    (MethodNotAllowed, "MethodNotAllowed", 405),
)


class StoreRefusal(PermissionDenied):
    """A request that is not signed as it must be, with the code of S3 for the reason."""

    def __init__(self, s3_code: str, message: str, s3_status: int = 403) -> None:
        super().__init__(message)
        self.s3_code = s3_code
        self.s3_status = s3_status
        self.decided_by("signature")


def refused(error: SluicegateError, method: str) -> Response:
    """The response to an error."""
    error = sent_error(error)
    if isinstance(error, StoreRefusal):
        return _response(error.s3_code, error.message, error.s3_status, method)
    found = (each[1:] for each in _CODES if isinstance(error, each[0]))
    code, status = next(found, ("InternalError", 500))
    response = _response(code, error.message, status, method)
    if status == 503:
        seconds = error.retry_after if isinstance(error, RateLimited) else None
        response.headers["Retry-After"] = RETRY_AFTER_SECONDS if seconds is None else str(seconds)
    elif isinstance(error, MethodNotAllowed):
        response.headers["Allow"] = error.allowed
    return response


def in_s3_format(response: Response, method: str) -> Response:
    """The response to a request for an object, whose refusals have the format of S3."""
    code = _BY_STATUS.get(response.status_code)
    if code is None:
        return response
    message = "the file does not match the precondition of the request, or has no such range"
    converted = _response(code, message, response.status_code, method)
    if (size := response.headers.get("content-range")) is not None:
        converted.headers["Content-Range"] = size
    return converted


def _response(code: str, message: str, status: int, method: str) -> Response:
    if method == "HEAD":  # clients see only the status
        return Response(status_code=status, headers=NOT_STORED, media_type=XML)
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n{error_document(code, message)}'.encode()
    return Response(body, status, headers=NOT_STORED, media_type=XML)
