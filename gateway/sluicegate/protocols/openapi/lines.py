"""The NDJSON lines of responses about tables, in both response formats.

Sources: Delta Sharing protocol, "API Response Actions" (in Parquet and in Delta Format);
docs/interop.md, "Protocol additions".
"""

from __future__ import annotations

from collections.abc import Mapping

from sluicegate.protocols.openapi.schemas import Schema, choice, only, record, schema_ref, text, whole

_NOTE = "Each item of this array is one line of the NDJSON response."


def schemas() -> dict[str, Schema]:
    """The lines, and their order in a response."""
    return {
        "EndStreamAction": _end_stream_action(),
        "QueryStatus": _query_status(),
        "MetadataAnswer": _either(*map(_metadata, ("Parquet", "Delta"))),
        "QueryAnswer": _either(_parquet(("file", "add", "remove")), _delta(), _pending()),
        "ChangesAnswer": _either(_parquet(("add", "remove", "cdf")), _delta()),
    }


def _end_stream_action() -> Schema:
    return record(
        "The last line, if the capability `includeendstreamaction=true` or a token was requested.",
        {},
        {
            "refreshToken": text("Send it as `refreshToken` to get new URLs for the same version."),
            "nextPageToken": text("Send it as `pageToken` with the same body for the next page."),
            "minUrlExpirationTimestamp": whole("When the first URL expires, epoch milliseconds."),
            "errorMessage": text("The response failed here. Discard the lines before."),
            "httpStatusErrorCode": whole("The HTTP status that corresponds to the error.", 400, 599),
        },
    )


def _query_status() -> Schema:
    return record(
        "The state of an asynchronous query.",
        {
            "queryId": text("Part of the path of Get Query Info."),
            "status": choice("Poll pending queries.", "pending", "failed"),
        },
        {"errorCode": text("Why it failed."), "errorMessage": text("Why it failed, for people.")},
    )


def _metadata(form: str) -> Schema:
    return {"type": "array", "prefixItems": _head(form), "minItems": 2, "maxItems": 2}


def _parquet(kinds: tuple[str, ...]) -> Schema:
    files = {kind: "ParquetFile" if kind == "file" else "ParquetChange" for kind in kinds}
    return _answer("Parquet", {**files, "metaData": "ParquetMetadata"})


def _delta() -> Schema:
    historical = {"metaData": "DeltaMetadata", "protocol": "DeltaProtocol"}
    return _answer("Delta", {"file": "DeltaFile", **historical})


def _answer(form: str, behind: Mapping[str, str]) -> Schema:
    """Protocol and metadata, followed by lines of these kinds."""
    lines = [*(only(kind, schema_ref(name)) for kind, name in behind.items()), _last()]
    return {"type": "array", "prefixItems": _head(form), "items": {"oneOf": lines}, "minItems": 2}


def _pending() -> Schema:
    status = only("queryStatus", schema_ref("QueryStatus"))
    return {"type": "array", "items": status, "minItems": 1, "maxItems": 1}


def _head(form: str) -> list[Schema]:
    return [
        only("protocol", schema_ref(f"{form}Protocol")),
        only("metaData", schema_ref(f"{form}Metadata")),
    ]


def _last() -> Schema:
    return only("endStreamAction", schema_ref("EndStreamAction"))


def _either(*answers: Schema) -> Schema:
    return {"oneOf": list(answers), "description": _NOTE}
