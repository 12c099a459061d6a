"""The NDJSON lines of answers about tables, in both response formats.

Sources: delta-sharing-protocol.md, "API Response Actions" (in Parquet and in Delta Format);
since-the-seed.md, "Protocol additions".
"""

from __future__ import annotations

from collections.abc import Mapping

from sluicegate.sharing.openapi.pieces import Schema, choice, only, record, schema_ref, text, whole

_NOTE = "Each item of this array is one line of the NDJSON answer."


def schemas() -> dict[str, Schema]:
    """The lines, and how they follow each other in an answer."""
    return {
        "EndStreamAction": _end_stream_action(),
        "QueryStatus": _query_status(),
        "MetadataAnswer": _either(*map(_metadata, ("Parquet", "Delta"))),
        "QueryAnswer": _either(_parquet(("file", "add", "remove")), _delta(), _pending()),
        "ChangesAnswer": _either(_parquet(("add", "remove", "cdf")), _delta()),
    }


def _end_stream_action() -> Schema:
    return record(
        "The last line, when the capability `includeendstreamaction=true` or a token was asked for.",
        {},
        {
            "refreshToken": text("Send it as `refreshToken` to have the same version signed anew."),
            "nextPageToken": text("Send it as `pageToken` with the same body for the next page."),
            "minUrlExpirationTimestamp": whole("When the first URL expires, epoch milliseconds."),
            "errorMessage": text("The answer broke here: what came before is not to be used."),
            "httpStatusErrorCode": whole("The status that the error would have had.", 400, 599),
        },
    )


def _query_status() -> Schema:
    return record(
        "The state of a query that is answered later.",
        {
            "queryId": text("Part of the address of Get Query Info."),
            "status": choice("Pending queries are to be polled.", "pending", "failed"),
        },
        {"errorCode": text("Why it failed."), "errorMessage": text("Why it failed, in words.")},
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
    """Protocol and metadata, then lines of these kinds."""
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
