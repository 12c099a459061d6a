"""What a query or metadata request asks for, parsed and checked before any table is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sluicegate.doors.parameters import at_most_one, boolean, integer, text, timestamp
from sluicegate.errors import InvalidRequest
from sluicegate.sharing import capabilities
from sluicegate.sharing.capabilities import Capabilities

FILE_ID_HASH = "fileidhash"
_HASHES = {"parquet": "md5", "delta": "sha256"}
_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Travel:
    """Which version is asked for; neither is the latest."""

    version: int | None = None
    timestamp: int | None = None

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Travel:
        """Read `version` and `timestamp`, which exclude each other."""
        at_most_one({name: values.get(name) for name in ("version", "timestamp")})
        return cls(
            integer("version", values.get("version")), timestamp("timestamp", values.get("timestamp"))
        )

    def __bool__(self) -> bool:
        """An older version may be meant."""
        return self.version is not None or self.timestamp is not None


@dataclass(frozen=True, slots=True)
class Form:
    """How the client wants the answer: its capabilities and its choice of file ids."""

    capabilities: Capabilities
    file_id_hash: str | None = None

    @classmethod
    def parse(cls, headers: Mapping[str, str]) -> Form:
        """Read the headers (since-the-seed.md, "fileidhash").

        Raises:
            InvalidRequest: `fileidhash` is neither `parquet` nor `delta`.
        """
        chosen = headers.get(FILE_ID_HASH)
        if chosen is not None and chosen.strip().lower() not in _HASHES:
            raise InvalidRequest(f"the header {FILE_ID_HASH} must be parquet or delta")
        return cls(
            capabilities.parse(headers.get(capabilities.HEADER)),
            chosen and chosen.strip().lower(),
        )

    def without_end(self) -> Form:
        """The same form without a last line."""
        return replace(self, capabilities=replace(self.capabilities, end_stream_action=False))

    def hash_name(self, response_format: str) -> str:
        """The hash that makes file ids: the client's choice, else the response format's own."""
        return _HASHES[self.file_id_hash or response_format]


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """The body of a snapshot query (delta-sharing-protocol.md, "Request Body"; since-the-seed.md)."""

    travel: Travel
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
        """Read the body; fields that are not known are ignored.

        Raises:
            InvalidRequest: A field has a wrong type or value, or two exclude each other.
        """
        request = cls(
            travel=Travel.parse(body),
            limit=integer("limitHint", body.get("limitHint"), high=_INT32),
            sql_hints=_sql_hints(body.get("predicateHints")),
            json_hints=text("jsonPredicateHints", body.get("jsonPredicateHints")),
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
        """The answer ends with a line for tokens, asked for by the header or not."""
        return self.max_files is not None or self.include_refresh_token or self.page_token is not None

    @property
    def continues(self) -> bool:
        """The request has to do with tokens, which the polls of a query do not carry on."""
        tokens = self.page_token is not None or self.refresh_token is not None
        return tokens or self.include_refresh_token

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two requests the same one, so that a token of the first fits the second."""
        return (self.travel, self.limit, self.sql_hints, self.json_hints)

    def _check_tokens(self) -> None:
        for name, given in (
            ("includeRefreshToken", self.include_refresh_token),
            ("refreshToken", self.refresh_token is not None),
        ):
            if given and self.travel:
                raise InvalidRequest(f"{name} cannot be used when a certain version is queried")
            if given and self.page_token is not None:
                raise InvalidRequest(f"{name} belongs to the first page's request, without pageToken")


def _sql_hints(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(hint, str) for hint in value):
        return tuple(value)
    raise InvalidRequest("predicateHints must be a list of strings")


def _idempotency_key(body: Mapping[str, Any]) -> str | None:
    """The Spark client spells it with an underscore."""
    camel = text("idempotencyKey", body.get("idempotencyKey"))
    return camel or text("idempotency_key", body.get("idempotency_key"))
