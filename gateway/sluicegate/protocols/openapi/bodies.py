"""Schemas of the request bodies (Delta Sharing protocol, "Request Body")."""

from __future__ import annotations

from sluicegate.protocols.openapi.schemas import (
    INT32_MAX,
    Schema,
    choice,
    flag,
    instant,
    many,
    record,
    schema_ref,
    text,
    whole,
)

_COMPARISONS = ("equal", "lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual")
_VALUE_TYPES = ("bool", "int", "long", "string", "date", "float", "double", "timestamp")


def schemas() -> dict[str, Schema]:
    """The bodies, and the predicates that one of them contains as text."""
    return {
        "Query": _query(),
        "Poll": record("Which part of the response is requested.", {}, _pages()),
        "Predicate": _predicate(),
    }


def body(schema: str) -> Schema:
    """A body that can be missing, which is the same as an empty object."""
    return {"required": False, "content": {"application/json": {"schema": schema_ref(schema)}}}


def _query() -> Schema:
    travel = "At most one of `version` and `timestamp`; only with shared history."
    return record(
        "A query of the table. Unknown members are ignored.",
        {},
        {
            "predicateHints": many(
                text("A condition, such as `date >= '2021-01-01'`."),
                "SQL conditions that all requested rows match. Best effort.",
            ),
            "jsonPredicateHints": text(
                "A `Predicate` as text. Best effort.",
                contentMediaType="application/json",
                contentSchema=schema_ref("Predicate"),
            ),
            "limitHint": whole("Number of rows requested, capped. Best effort.", 0, INT32_MAX),
            "version": whole(f"The requested version. {travel}"),
            "timestamp": instant(f"Returns the version that was the latest at that time. {travel}"),
            "startingVersion": whole(
                "Instead of a snapshot, the files added and removed from this version on: hints are "
                "ignored. Only with shared history, and without `version` and `timestamp`."
            ),
            "endingVersion": whole("With `startingVersion`: the last version."),
            "includeHistoricalProtocol": flag(
                "With `startingVersion`, in delta format: include the protocol wherever it changes."
            ),
            "includeRefreshToken": flag("Whether the last line includes a `refreshToken`."),
            "refreshToken": text("Re-signs the version that the token was issued with."),
            "idempotencyKey": text(
                "Required for an asynchronous query. The same key returns the same query id."
            ),
            "idempotency_key": text("The same, with the name that the Spark client uses."),
            **_pages(),
        },
    )


def _pages() -> dict[str, Schema]:
    return {
        "maxFiles": whole("Maximum number of files per page.", 1, INT32_MAX),
        "pageToken": text("`nextPageToken` of the previous page. The rest of the body is the same."),
    }


def _predicate() -> Schema:
    child = schema_ref("Predicate")
    kind = {"valueType": choice("The type that both sides are compared as.", *_VALUE_TYPES)}

    def children(**bounds: int) -> dict[str, Schema]:
        return {"children": many(child, "Operands of the operation.", **bounds)}

    return {
        "description": 'A condition on columns ("JSON predicates for Filtering").',
        "oneOf": [
            _op(("column",), {"name": text("Name of the column."), **kind}),
            _op(("literal",), {"value": text("The value as text."), **kind}),
            _op(("isNull", "not"), children(minItems=1, maxItems=1)),
            _op(_COMPARISONS, children(minItems=2, maxItems=2)),
            _op(("and", "or"), children(minItems=2)),
        ],
    }


def _op(names: tuple[str, ...], members: dict[str, Schema]) -> Schema:
    return record("An operation.", {"op": choice("Its name.", *names), **members})
