"""Parameters of addresses, query strings and headers, as `sharing.parameters` reads them."""

from __future__ import annotations

from sluicegate.doors.parameters import MAX_RESULTS
from sluicegate.sharing.capabilities import HEADER
from sluicegate.sharing.openapi.listings import name
from sluicegate.sharing.openapi.pieces import (
    INT32_MAX,
    Schema,
    choice,
    flag,
    instant,
    text,
    whole,
)
from sluicegate.sharing.question import FILE_ID_HASH

SHARE, SCHEMA, TABLE = ("share",), ("share", "schema"), ("share", "schema", "table")


def named(names: tuple[str, ...]) -> list[Schema]:
    """Parameters of the path that are names."""
    return [in_path(each, name(each)) for each in names]


def paged() -> list[Schema]:
    """Parameters of listings ("List Shares")."""
    return [
        in_query("maxResults", whole("Most items of one page.", 0, MAX_RESULTS)),
        in_query("pageToken", text("`nextPageToken` of the page before.")),
    ]


def travel() -> list[Schema]:
    """Time travel: at most one of them, and only where the table is shared with its history."""
    return [
        in_query("version", whole("The version that is asked for.")),
        in_query("timestamp", instant("The version that was the latest then.")),
    ]


def starting() -> list[Schema]:
    """Of "Query Table Version"."""
    asked = instant("Answers the earliest version at or after it, instead of the latest.")
    return [in_query("startingTimestamp", asked)]


def changes() -> list[Schema]:
    """The range of a change data feed, its historical lines and its pages."""
    start, end = "One of both has to be given.", "Not both; without one it is the latest version."
    metadata, protocol = "includeHistoricalMetadata", "includeHistoricalProtocol"
    return [
        in_query("startingVersion", whole(f"The first version. {start}")),
        in_query("startingTimestamp", instant(f"The first version at or after it. {start}")),
        in_query("endingVersion", whole(f"The last version. {end}")),
        in_query("endingTimestamp", instant(f"The last version at or before it. {end}")),
        in_query(metadata, flag("Tell where the metadata changes.")),
        in_query(protocol, flag("Tell where the protocol changes; in delta format only.")),
        in_query("maxFiles", whole("Most files of one page.", 1, INT32_MAX)),
        in_query("pageToken", text("`nextPageToken` of the page before, with the same range.")),
    ]


def form() -> list[Schema]:
    """Headers that say what the client can take ("Delta Sharing Capabilities Header")."""
    capabilities = text(
        "Parts `key=value,value` with semicolons between them, in any case: `responseformat` "
        "(`parquet`, `delta` or both), `readerfeatures` (Delta's names), `includeendstreamaction` and "
        "`asyncquery` (`true` or `false`); for metadata `accessmode` (`url`, `dir` or both). Unknown "
        "keys are ignored.",
        examples=["responseformat=delta,parquet;readerfeatures=deletionvectors,columnmapping"],
    )
    hashes = choice("Makes file ids by md5 (parquet) or sha256 (delta).", "parquet", "delta")
    return [in_header(HEADER, capabilities), in_header(FILE_ID_HASH, hashes)]


def in_path(key: str, schema: Schema) -> Schema:
    """A part of the path."""
    return {"name": key, "in": "path", "required": True, "schema": schema}


def in_query(key: str, schema: Schema, *, required: bool = False) -> Schema:
    """A parameter of the query string."""
    return {"name": key, "in": "query", "required": required, "schema": schema}


def in_header(key: str, schema: Schema) -> Schema:
    """A header that may be sent."""
    return {"name": key, "in": "header", "required": False, "schema": schema}
