"""Errors that a catalog returns, classified by status and by the type in Iceberg's error model.

Source: Iceberg REST specification, `IcebergErrorResponse`.
"""

from __future__ import annotations

from typing import Any

import orjson

from sluicegate.api import HttpResponse, Unavailable

_TEXT_LENGTH = 500
_LONGEST = 65_536  # bytes; errors are shorter
_NOT_OFFERED = frozenset({404, 405, 406, 410, 501})
# Polaris returns this error for all requests if the realm is wrong.
_OF_CONFIGURATION = frozenset({"MissingOrInvalidRealm"})
_CONFLICT = 409
_SERVER_ERRORS = 500
_STATE_UNKNOWN = "CommitStateUnknownException"
_DROPPED = frozenset(
    {"NoSuchTableException", "NoSuchNamespaceException", "NoSuchIcebergTableException"}
)


class CommitStateUnknown(Unavailable):
    """A change was sent, but it is unknown whether the catalog applied it ("commit state unknown")."""

    def __init__(self, catalog: str, detail: str) -> None:
        super().__init__(
            f"the catalog '{catalog}' did not confirm a change, and may have applied it; check the "
            "table before you repeat the change",
            detail=detail,
        )


class Refused(Unavailable):
    """The catalog returned an error. Callers that don't handle it report the catalog as unavailable.

    Attributes:
        kind: The error's type; `None` if the response doesn't contain an Iceberg error.
    """

    def __init__(self, catalog: str, url: str, answer: HttpResponse) -> None:
        error = _error(answer.content)
        self.http_status = answer.status
        self.kind: str | None = error.get("type") if isinstance(error.get("type"), str) else None
        text = answer.redacted(str(error.get("message", "")))[:_TEXT_LENGTH]
        super().__init__(
            f"the catalog '{catalog}' does not respond to the gateway as expected; try again later, or "
            "ask the gateway's operator",
            detail=f"{url}: {answer.status} {self.kind or 'no Iceberg error'}: {text}",
        )

    @property
    def says_missing(self) -> bool:
        """Return whether the object is missing, hidden from the gateway, or has an invalid name."""
        if self.kind is None or self.kind in _OF_CONFIGURATION:
            return False
        return self.http_status in (400, 403, 404, 414)

    @property
    def says_conflict(self) -> bool:
        """Return whether a requirement of the commit failed, or the table to create already exists."""
        return self.http_status == _CONFLICT

    @property
    def leaves_unknown(self) -> bool:
        """Return whether the catalog might have applied the change.

        According to Iceberg's specification, this is the case for 500, 502 and 504. Iceberg's own
        client adds 503, which proxies send if they lose the server's response. Polaris sends the
        exception with status 400.
        """
        return self.kind == _STATE_UNKNOWN or self.http_status >= _SERVER_ERRORS

    @property
    def says_not_offered(self) -> bool:
        """Return whether, judging by the status, the catalog does not support the endpoint."""
        return self.http_status in _NOT_OFFERED

    @property
    def says_dropped(self) -> bool:
        """Return whether the table doesn't exist, as opposed to only the endpoint."""
        return self.http_status == 404 and self.kind in _DROPPED


def _error(body: bytes) -> dict[str, Any]:
    if len(body) > _LONGEST:
        return {}
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    error = document.get("error") if isinstance(document, dict) else None
    return error if isinstance(error, dict) else {}
