"""Parses responses of the catalog, and both formats of its errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Final, Self

from sluicegate.api import HttpResponse

_LONGEST_REASON: Final = 500
_LONGEST_ERROR: Final = 65_536  # bytes
# Errors in which the catalog rejects the caller, not the request. For a reader without grants on a
# table, it returns "Access denied." with the same status and code.
_STRANGERS: Final = ("user not allowed", "invalid access token", "invalid token")
# The server no longer has the key that signed the token.
_UNKNOWN_KEY: Final = "no key found in "
# With authorization, servers look up a route's service before they report an unknown route.
_UNKNOWN_ROUTE: Final = "couldn't unwrap service"
# Servers up to 0.6.0 fail on a volume that does not exist.
_NO_VOLUME: Final = "failed to get volume: cannot invoke "


class Refused(Exception):
    """The catalog responded with an error that may be meaningful to the caller.

    Attributes:
        code: The catalog's own code, such as `TABLE_NOT_FOUND` or `NoSuchTableException`; `None` if
            the catalog has no such route, or something else responded.
    """

    def __init__(self, status: int, code: str | None, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail

    @property
    def hides(self) -> bool:
        """Return whether the object doesn't exist or is hidden from the gateway, indistinguishably."""
        return self.status in (403, 404) and self.code is not None

    @property
    def has_no_route(self) -> bool:
        """Return whether this version of the server doesn't know the route."""
        return self.status in (404, 405, 501) and self.code is None

    @classmethod
    def because_of_no_volume(cls, asked: str) -> Self:
        """Convert the error that servers return for a volume that does not exist."""
        return cls(404, "NOT_FOUND", f"{asked} (the volume does not exist)")

    @classmethod
    def because_of_no_route(cls, asked: str) -> Self:
        """Convert the error that servers with authorization return for an unknown route."""
        return cls(404, None, f"{asked} (the server does not have this route)")


class Verdict(Enum):
    """Information about an error beyond its status."""

    OTHER = auto()
    UNKNOWN_IDENTITY = auto()
    NO_ROUTE = auto()
    NO_VOLUME = auto()


def json_object(content: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a response; `None` if there is none."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def verdict(answer: HttpResponse) -> Verdict:
    """Return the meaning of an error whose status alone is ambiguous."""
    if answer.status == 401:
        return Verdict.UNKNOWN_IDENTITY
    if answer.status not in (403, 500) or len(answer.content) > _LONGEST_ERROR:
        return Verdict.OTHER
    document = json_object(answer.content) or {}
    code, message = document.get("error_code"), str(document.get("message")).casefold()
    if (answer.status, code) == (403, "PERMISSION_DENIED") and message.startswith(_STRANGERS):
        return Verdict.UNKNOWN_IDENTITY
    if (answer.status, code) == (500, "INTERNAL"):
        if message.startswith(_UNKNOWN_KEY):
            return Verdict.UNKNOWN_IDENTITY
        if message.startswith(_UNKNOWN_ROUTE):
            return Verdict.NO_ROUTE
        if message.startswith(_NO_VOLUME):
            return Verdict.NO_VOLUME
    return Verdict.OTHER


def refuses_identity(answer: HttpResponse) -> bool:
    """Return whether the catalog rejects the caller, so that another token may help."""
    return verdict(answer) is Verdict.UNKNOWN_IDENTITY


def is_conclusive(answer: HttpResponse) -> bool:
    """Return whether an error persists if the request is repeated, whatever its status."""
    return verdict(answer) is not Verdict.OTHER


def refusal(asked: str, answer: HttpResponse, document: Mapping[str, Any] | None) -> Refused:
    """Return the error of an unsuccessful response."""
    found = document or {}
    # The Delta API wraps its errors, except those of authentication.
    inner = found.get("error")
    nested: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    code = found.get("error_code") or nested.get("type")
    message = found.get("message") or nested.get("message")
    known = code if isinstance(code, str) else None
    said = answer.redacted(f"{known or ''} {message if isinstance(message, str) else ''}")
    reason = " ".join(said.split())[:_LONGEST_REASON] or "not a JSON object of a Unity Catalog"
    return Refused(answer.status, known, f"{asked}: {answer.status} {reason}")
