"""Parses and validates query and metadata requests before any table is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sluicegate.api.errors import InvalidRequest
from sluicegate.protocols.common.parameters import (
    at_most_one,
    boolean,
    hinted,
    integer,
    text,
    timestamp,
)
from sluicegate.protocols.delta_sharing import negotiation
from sluicegate.protocols.delta_sharing.negotiation import Capabilities

FILE_ID_HASH = "fileidhash"
_HASHES = {"parquet": "md5", "delta": "sha256"}
_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class TimeTravel:
    """The requested version. If neither field is set, it is the latest."""

    version: int | None = None
    timestamp: int | None = None

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> TimeTravel:
        """Parse `version` and `timestamp`, which exclude each other."""
        at_most_one({name: values.get(name) for name in ("version", "timestamp")})
        return cls(
            integer("version", values.get("version")), timestamp("timestamp", values.get("timestamp"))
        )

    def __bool__(self) -> bool:
        """Whether a version or time is requested."""
        return self.version is not None or self.timestamp is not None


@dataclass(frozen=True, slots=True)
class ResponseOptions:
    """How the client wants the response.

    Attributes:
        content_coding: The coding in which a step can encode the response itself. `None` for no coding.
    """

    capabilities: Capabilities
    file_id_hash: str | None = None
    content_coding: str | None = None

    @classmethod
    def parse(cls, headers: Mapping[str, str], content_coding: str | None = None) -> ResponseOptions:
        """Parse the headers (Delta Sharing protocol, "File ID Hash Header")."""
        chosen = headers.get(FILE_ID_HASH)
        if chosen is not None and chosen.strip().lower() not in _HASHES:
            raise InvalidRequest(f"the header {FILE_ID_HASH} must be parquet or delta")
        return cls(
            negotiation.parse(headers.get(negotiation.HEADER)),
            chosen and chosen.strip().lower(),
            content_coding,
        )

    def without_end(self) -> ResponseOptions:
        """The same options without a last line."""
        return replace(self, capabilities=replace(self.capabilities, end_stream_action=False))

    def hash_name(self, response_format: str) -> str:
        """The hash for file ids: the client's choice, else the response format's own."""
        return _HASHES[self.file_id_hash or response_format]


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """The body of a snapshot query (Delta Sharing protocol, "Request Body"; docs/interop.md)."""

    travel: TimeTravel
    limit: int | None = None
    sql_hints: tuple[str, ...] = ()
    json_hints: str | None = None
    max_files: int | None = None
    page_token: str | None = None
    include_refresh_token: bool = False
    refresh_token: str | None = None
    idempotency_key: str | None = None

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> QueryRequest:
        """Parse the body. Unknown fields are ignored."""
        request = cls(
            travel=TimeTravel.parse(body),
            limit=hinted("limitHint", body.get("limitHint"), high=_INT32),
            sql_hints=_sql_hints(body.get("predicateHints")),
            json_hints=_json_hints(body.get("jsonPredicateHints")),
            max_files=integer("maxFiles", body.get("maxFiles"), low=1, high=_INT32),
            page_token=text("pageToken", body.get("pageToken")),
            include_refresh_token=boolean("includeRefreshToken", body.get("includeRefreshToken")),
            refresh_token=text("refreshToken", body.get("refreshToken")),
            idempotency_key=_idempotency_key(body),
        )
        request._check_tokens()
        return request

    @property
    def wants_tokens(self) -> bool:
        """Whether the response ends with a line for tokens, even if the header does not request it."""
        return self.max_files is not None or self.include_refresh_token or self.page_token is not None

    @property
    def continues(self) -> bool:
        """Whether the request continues an earlier response with one of its tokens."""
        return self.page_token is not None or self.refresh_token is not None

    @property
    def identity(self) -> tuple[object, ...]:
        """Return the parts that must be equal in all requests for which a token is valid."""
        return (self.travel, self.limit, self.sql_hints, self.json_hints)

    def _check_tokens(self) -> None:
        for name, given in (
            ("includeRefreshToken", self.include_refresh_token),
            ("refreshToken", self.refresh_token is not None),
        ):
            if given and self.travel:
                raise InvalidRequest(f"{name} cannot be used when a specific version is queried")
            if given and self.page_token is not None:
                raise InvalidRequest(f"{name} belongs to the first page's request, without pageToken")


def _json_hints(value: object) -> str | None:
    """The JSON predicate. An empty one is ignored, as is any other hint without a meaning."""
    return text("jsonPredicateHints", None if value == "" else value)


def _sql_hints(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(hint, str) for hint in value):
        return tuple(value)
    raise InvalidRequest("predicateHints must be a list of strings")


def _idempotency_key(body: Mapping[str, Any]) -> str | None:
    """The idempotency key. The Spark client writes the name with an underscore."""
    camel = text("idempotencyKey", body.get("idempotencyKey"))
    return camel or text("idempotency_key", body.get("idempotency_key"))
