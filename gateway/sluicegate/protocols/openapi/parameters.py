"""Parameters of paths, query strings, and headers."""

from __future__ import annotations

from sluicegate.protocols.common.parameters import MAX_RESULTS
from sluicegate.protocols.delta_sharing.capabilities import HEADER
from sluicegate.protocols.delta_sharing.request import FILE_ID_HASH
from sluicegate.protocols.openapi.listings import name
from sluicegate.protocols.openapi.schemas import (
    INT32_MAX,
    Schema,
    choice,
    flag,
    instant,
    text,
    whole,
)

SHARE, SCHEMA, TABLE = ("share",), ("share", "schema"), ("share", "schema", "table")


def named(names: tuple[str, ...]) -> list[Schema]:
    """Parameters of the path that are names."""
    return [in_path(each, name(each)) for each in names]


def paged() -> list[Schema]:
    """Parameters of listings ("List Shares")."""
    return [
        in_query("maxResults", whole("Maximum number of items per page.", 0, MAX_RESULTS)),
        in_query("pageToken", text("`nextPageToken` of the previous page.")),
    ]


def travel() -> list[Schema]:
    """Time travel: at most one of the parameters, and only if the table is shared with its history."""
    return [
        in_query("version", whole("The requested version.")),
        in_query("timestamp", instant("Returns the version that was the latest at that time.")),
    ]


def starting() -> list[Schema]:
    """The parameter of "Query Table Version"."""
    starting = instant("Returns the earliest version at or after it, instead of the latest.")
    return [in_query("startingTimestamp", starting)]


def changes() -> list[Schema]:
    """The range of a change data feed, its historical lines, and its pages."""
    start, end = (
        "Either this parameter or its counterpart is required.",
        "At most one of both can be set. Default: the latest version.",
    )
    metadata, protocol = "includeHistoricalMetadata", "includeHistoricalProtocol"
    return [
        in_query("startingVersion", whole(f"The first version. {start}")),
        in_query("startingTimestamp", instant(f"The first version at or after it. {start}")),
        in_query("endingVersion", whole(f"The last version. {end}")),
        in_query("endingTimestamp", instant(f"The last version at or before it. {end}")),
        in_query(metadata, flag("Include the metadata wherever it changes.")),
        in_query(protocol, flag("Include the protocol wherever it changes. Only in delta format.")),
        in_query("maxFiles", whole("Maximum number of files per page.", 1, INT32_MAX)),
        in_query("pageToken", text("`nextPageToken` of the previous page, with the same range.")),
    ]


def form() -> list[Schema]:
    """Headers with the client's capabilities ("Delta Sharing Capabilities Header")."""
    capabilities = text(
        "Parts `key=value,value` with semicolons between them, in any case: `responseformat` "
        "(`parquet`, `delta` or both), `readerfeatures` (Delta's names), `includeendstreamaction` and "
        "`asyncquery` (`true` or `false`); for metadata `accessmode` (`url`, `dir` or both). Unknown "
        "keys are ignored.",
        examples=["responseformat=delta,parquet;readerfeatures=deletionvectors,columnmapping"],
    )
    hashes = choice("The hash for file ids: md5 (parquet) or sha256 (delta).", "parquet", "delta")
    return [in_header(HEADER, capabilities), in_header(FILE_ID_HASH, hashes)]


def in_path(key: str, schema: Schema) -> Schema:
    """A part of the path."""
    return {"name": key, "in": "path", "required": True, "schema": schema}


def in_query(key: str, schema: Schema, *, required: bool = False) -> Schema:
    """A parameter of the query string."""
    return {"name": key, "in": "query", "required": required, "schema": schema}


def in_header(key: str, schema: Schema) -> Schema:
    """An optional header."""
    return {"name": key, "in": "header", "required": False, "schema": schema}
