"""Parses and validates stream and change feed requests before any table is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sluicegate.api.errors import InvalidRequest
from sluicegate.protocols.common.parameters import at_most_one, boolean, integer, text, timestamp

if TYPE_CHECKING:
    from sluicegate.tables.changes import What

_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Bound:
    """Start or end of a range: by version, by time (epoch milliseconds), or unspecified."""

    version: int | None = None
    timestamp: int | None = None

    @classmethod
    def parse(cls, values: Mapping[str, Any], side: str) -> Bound:
        """Parse `{side}Version` and `{side}Timestamp`, which exclude each other."""
        version, moment = f"{side}Version", f"{side}Timestamp"
        at_most_one({name: values.get(name) for name in (version, moment)})
        return cls(integer(version, values.get(version)), timestamp(moment, values.get(moment)))

    def __bool__(self) -> bool:
        """Whether the bound is specified."""
        return self.version is not None or self.timestamp is not None


@dataclass(frozen=True, slots=True)
class ChangesRequest:
    """A range of versions, and which parts of it are requested."""

    what: What
    start: Bound
    end: Bound
    historical_metadata: bool = False
    historical_protocol: bool = False
    max_files: int | None = None
    page_token: str | None = None

    @classmethod
    def of_feed(cls, query: Mapping[str, str]) -> ChangesRequest:
        """Parse the query parameters of "Read Change Data Feed from a Table"."""
        start = Bound.parse(query, "starting")
        if not start:
            raise InvalidRequest("startingVersion or startingTimestamp must be given")
        return cls(
            what="feed",
            start=start,
            end=Bound.parse(query, "ending"),
            historical_metadata=boolean(
                "includeHistoricalMetadata", query.get("includeHistoricalMetadata")
            ),
            **_common(query),
        )

    @classmethod
    def of_stream(cls, body: Mapping[str, Any]) -> ChangesRequest | None:
        """Parse the body of a query with a `startingVersion` ("Read Data from a Table").

        Hints about predicates and limits are ignored, because a stream includes all rows.

        Returns:
            `None` if the body has no `startingVersion`, and therefore requests a snapshot.
        """
        if body.get("startingVersion") is None:
            return None
        at_most_one({name: body.get(name) for name in ("version", "timestamp", "startingVersion")})
        for name, given in (
            ("includeRefreshToken", boolean("includeRefreshToken", body.get("includeRefreshToken"))),
            ("refreshToken", text("refreshToken", body.get("refreshToken")) is not None),
        ):
            if given:
                raise InvalidRequest(f"{name} cannot be used together with startingVersion")
        return cls(
            what="data",
            start=Bound(integer("startingVersion", body.get("startingVersion"))),
            end=Bound(integer("endingVersion", body.get("endingVersion"))),
            historical_metadata=True,
            **_common(body),
        )

    @property
    def wants_tokens(self) -> bool:
        """Whether the response ends with a line for tokens, even if the header does not request it."""
        return self.max_files is not None or self.page_token is not None

    @property
    def identity(self) -> tuple[object, ...]:
        """Return the parts that must be equal in all requests for which a token is valid."""
        return (replace(self, max_files=None, page_token=None),)


def _common(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "historical_protocol": boolean(
            "includeHistoricalProtocol", values.get("includeHistoricalProtocol")
        ),
        "max_files": integer("maxFiles", values.get("maxFiles"), low=1, high=_INT32),
        "page_token": text("pageToken", values.get("pageToken")),
    }
