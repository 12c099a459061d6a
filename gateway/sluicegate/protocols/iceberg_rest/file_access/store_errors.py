"""Errors of addresses that Iceberg clients take for a store, in the format of S3.

Source: Amazon S3 API reference, "Error responses". The SDKs of stores show nothing else to users.
"""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

from starlette.responses import Response

from sluicegate.http.responses import NOT_STORED

REFUSED: Final = "InvalidRequest"
"""The code of a file that cannot be made, which clients do not request again."""

MISSING: Final = "NoSuchKey"
"""The code of a file that does not exist."""

DENIED: Final = "AccessDenied"
"""The code of a request that was not signed."""

_XML = "application/xml"


def store_error(code: str, message: str, status: int, method: str = "GET") -> Response:
    """An error with a message for users.

    Clients look up the size of a file before they read it. A response to HEAD has no body, and its
    reader would not show why the file cannot be read. It is therefore the size of the message, which
    the client then reads instead of the file.

    Args:
        code: One of the codes of S3.
        message: What was wrong, and what to do.
        status: The status of the response to `GET`.
        method: The method of the request.
    """
    body = f"<Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error>".encode()
    if method == "HEAD":
        headers = {**NOT_STORED, "Accept-Ranges": "bytes", "Content-Length": str(len(body))}
        return Response(headers=headers, media_type=_XML)
    return Response(body, status, headers=NOT_STORED, media_type=_XML)
