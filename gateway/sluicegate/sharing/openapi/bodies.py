"""Request bodies, as `sharing.question` reads them (delta-sharing-protocol.md, "Request Body")."""

from __future__ import annotations

from sluicegate.sharing.openapi.pieces import (
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
    """The bodies, and the predicates that one of them carries as text."""
    return {
        "Query": _query(),
        "Poll": record("Which part of the answer is wanted.", {}, _pages()),
        "Predicate": _predicate(),
    }


def body(schema: str) -> Schema:
    """A body that may be missing, which is the same as an empty object."""
    return {"required": False, "content": {"application/json": {"schema": schema_ref(schema)}}}


def _query() -> Schema:
    travel = "At most one of `version` and `timestamp`; only with shared history."
    return record(
        "What is asked of the table. Unknown members are ignored.",
        {},
        {
            "predicateHints": many(
                text("A condition, such as `date >= '2021-01-01'`."),
                "SQL conditions, all of which hold for the wanted rows. Best effort.",
            ),
            "jsonPredicateHints": text(
                "A `Predicate` as text. Best effort.",
                contentMediaType="application/json",
                contentSchema=schema_ref("Predicate"),
            ),
            "limitHint": whole("Rows that are wanted. Best effort.", 0, INT32_MAX),
            "version": whole(f"The version that is asked for. {travel}"),
            "timestamp": instant(f"The version that was the latest then. {travel}"),
            "startingVersion": whole(
                "Instead of a snapshot, the files added and removed from this version on: hints are "
                "ignored. Only with shared history, and without `version` and `timestamp`."
            ),
            "endingVersion": whole("With `startingVersion`: the last version."),
            "includeHistoricalProtocol": flag(
                "With `startingVersion`, in delta format: tell where the protocol changes."
            ),
            "includeRefreshToken": flag("The last line shall carry a `refreshToken`."),
            "refreshToken": text("Signs the version anew that the token came with."),
            "idempotencyKey": text("Of an asynchronous query: the same key has the same query id."),
            "idempotency_key": text("The same, as the Spark client spells it."),
            **_pages(),
        },
    )


def _pages() -> dict[str, Schema]:
    return {
        "maxFiles": whole("Most files of one page.", 1, INT32_MAX),
        "pageToken": text("`nextPageToken` of the page before; the body is otherwise the same."),
    }


def _predicate() -> Schema:
    child = schema_ref("Predicate")
    kind = {"valueType": choice("Both sides are compared as this.", *_VALUE_TYPES)}

    def children(**bounds: int) -> dict[str, Schema]:
        return {"children": many(child, "What the operation is about.", **bounds)}

    return {
        "description": 'A condition on columns ("JSON predicates for Filtering").',
        "oneOf": [
            _op(("column",), {"name": text("Of the column."), **kind}),
            _op(("literal",), {"value": text("The value as text."), **kind}),
            _op(("isNull", "not"), children(minItems=1, maxItems=1)),
            _op(_COMPARISONS, children(minItems=2, maxItems=2)),
            _op(("and", "or"), children(minItems=2)),
        ],
    }


def _op(names: tuple[str, ...], members: dict[str, Schema]) -> Schema:
    return record("An operation.", {"op": choice("Its name.", *names), **members})
