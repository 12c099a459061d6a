"""What a stream or change feed request asks for, parsed and checked before any table is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sluicegate.doors.parameters import at_most_one, boolean, integer, text, timestamp
from sluicegate.errors import InvalidRequest

if TYPE_CHECKING:
    from sluicegate.tables.changes import What

_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a range starts or ends: by version or by time (epoch milliseconds), or not said at all."""

    version: int | None = None
    timestamp: int | None = None

    @classmethod
    def parse(cls, values: Mapping[str, Any], side: str) -> Bound:
        """Read `{side}Version` and `{side}Timestamp`, which exclude each other."""
        version, moment = f"{side}Version", f"{side}Timestamp"
        at_most_one({name: values.get(name) for name in (version, moment)})
        return cls(integer(version, values.get(version)), timestamp(moment, values.get(moment)))

    def __bool__(self) -> bool:
        """It was said."""
        return self.version is not None or self.timestamp is not None


@dataclass(frozen=True, slots=True)
class ChangesRequest:
    """A range of versions, and what of it is wanted.

    Attributes:
        what: `feed` for a change data feed, `data` for a stream of added and removed files.
        historical_metadata: Metadata of versions behind the first is answered where it changes.
        historical_protocol: The protocol likewise (in delta format only).
    """

    what: What
    start: Bound
    end: Bound
    historical_metadata: bool = False
    historical_protocol: bool = False
    max_files: int | None = None
    page_token: str | None = None

    @classmethod
    def of_feed(cls, query: Mapping[str, str]) -> ChangesRequest:
        """Read the query parameters of "Read Change Data Feed from a Table".

        Raises:
            InvalidRequest: A parameter has a wrong value, there is no start, or two exclude each other.
        """
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
        """Read the body of a query with a `startingVersion` ("Read Data from a Table").

        Hints on predicates and limits are ignored: a stream takes all rows.

        Returns:
            `None` where it has none, and so asks for a snapshot.

        Raises:
            InvalidRequest: A field has a wrong type or value, or two exclude each other.
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
        """The answer ends with a line for tokens, asked for by the header or not."""
        return self.max_files is not None or self.page_token is not None

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two requests the same one, so that a token of the first fits the second."""
        return (replace(self, max_files=None, page_token=None),)


def _common(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "historical_protocol": boolean(
            "includeHistoricalProtocol", values.get("includeHistoricalProtocol")
        ),
        "max_files": integer("maxFiles", values.get("maxFiles"), low=1, high=_INT32),
        "page_token": text("pageToken", values.get("pageToken")),
    }
