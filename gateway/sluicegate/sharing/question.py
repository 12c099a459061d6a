"""What a query or metadata request asks for, parsed and checked before any table is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate.errors import InvalidRequest
from sluicegate.sharing import capabilities
from sluicegate.sharing.capabilities import Capabilities
from sluicegate.sharing.parameters import at_most_one, integer, text, timestamp

FILE_ID_HASH = "fileidhash"
_HASHES = {"parquet": "md5", "delta": "sha256"}


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

    def hash_name(self, response_format: str) -> str:
        """The hash that makes file ids: the client's choice, else the response format's own."""
        return _HASHES[self.file_id_hash or response_format]


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """The body of a query (delta-sharing-protocol.md, "Request Body")."""

    travel: Travel
    limit: int | None = None

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> QueryRequest:
        """Read the body; fields that are not known are ignored.

        Raises:
            InvalidRequest: A field has a wrong type or value, or two exclude each other.
        """
        at_most_one({name: body.get(name) for name in ("version", "timestamp", "startingVersion")})
        _check_hints(body)
        return cls(Travel.parse(body), integer("limitHint", body.get("limitHint"), high=2**31 - 1))


def _check_hints(body: Mapping[str, Any]) -> None:
    hints = body.get("predicateHints")
    if hints is not None and not (
        isinstance(hints, list) and all(isinstance(hint, str) for hint in hints)
    ):
        raise InvalidRequest("predicateHints must be a list of strings")
    text("jsonPredicateHints", body.get("jsonPredicateHints"))
