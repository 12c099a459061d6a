"""Requests to the fake Unity Catalog, and its responses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

_STATUS = {
    "TABLE_NOT_FOUND": 404,
    "SCHEMA_NOT_FOUND": 404,
    "CATALOG_NOT_FOUND": 404,
    "NOT_FOUND": 404,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "INTERNAL": 500,
}


_DELTA_TYPES = {
    "TABLE_NOT_FOUND": "NoSuchTableException",
    "PERMISSION_DENIED": "PermissionDeniedException",
    "INVALID_ARGUMENT": "UnsupportedTableFormatException",
    "FAILED_PRECONDITION": "InvalidParameterValueException",
    "INTERNAL": "InternalServerErrorException",
}


@dataclass(frozen=True)
class UnityRequest:
    """A request with a decoded path."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def token(self) -> str | None:
        """The bearer token."""
        return self.headers.get("Authorization", "").removeprefix("Bearer ") or None

    @property
    def json(self) -> dict[str, Any]:
        """The body."""
        document = json.loads(self.body)
        assert isinstance(document, dict)
        return document

    @property
    def form(self) -> dict[str, str]:
        """The body, if it is a form."""
        return dict(parse_qsl(self.body.decode()))


@dataclass(frozen=True)
class UnityReply:
    """A response."""

    status: int = 200
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})

    @classmethod
    def of(cls, document: Any, status: int = 200) -> UnityReply:
        """JSON."""
        return cls(status, json.dumps(document).encode())

    @classmethod
    def refusing(cls, code: str, message: str = "internal words of 10.0.0.7") -> UnityReply:
        """Return an error in the catalog's first format."""
        details = [{"reason": code, "@type": "google.rpc.ErrorInfo"}]
        document = {"error_code": code, "details": details, "message": message}
        return cls.of(document, _STATUS[code])

    @classmethod
    def refusing_delta(cls, code: str, message: str = "internal words of 10.0.0.7") -> UnityReply:
        """Return an error in the format of the Delta API."""
        known = {"message": message, "type": _DELTA_TYPES[code], "code": _STATUS[code], "stack": None}
        return cls.of({"error": known}, _STATUS[code])

    @classmethod
    def no_route(cls, status: int = 404) -> UnityReply:
        """Return the response of routes that do not exist."""
        text = f"Status: {status}\n".encode()
        return cls(status, text, {"Content-Type": "text/plain; charset=utf-8"})
