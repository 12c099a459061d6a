"""The input document of a request, and the decision in a response.

Source: Open Policy Agent, "Get a Document (with Input)" of its REST API.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sluicegate.api import PolicyAction, Principal, SharedAsset, SharedTable

_LONGEST_REASON = 300


class InvalidDecision(Exception):
    """The response contains no usable decision. The message is for the log."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The recipient and the action of a request, in a form that can be compared and hashed.

    Attributes:
        properties: The recipient's properties, sorted by name.
    """

    id: str
    name: str
    method: str
    address: str | None
    properties: tuple[tuple[str, str], ...]
    action: PolicyAction

    @classmethod
    def of(cls, principal: Principal, action: PolicyAction) -> Subject:
        """Return the subject of a call of the gateway."""
        properties = tuple(sorted(principal.properties.items()))
        return cls(
            principal.id, principal.name, principal.method, principal.address, properties, action
        )


def input_document(subject: Subject, tables: Sequence[SharedTable]) -> dict[str, Any]:
    """Return the body of a request."""
    principal = {
        "id": subject.id,
        "name": subject.name,
        "method": subject.method,
        "address": subject.address,
        "properties": dict(subject.properties),
    }
    return {
        "input": {
            "principal": principal,
            "action": subject.action,
            "tables": [_table(table) for table in tables],
        }
    }


def _table(table: SharedTable) -> dict[str, Any]:
    # Not the id, which some catalogs return only when a table is read, and not when it is listed.
    return {
        "kind": table.kind if isinstance(table, SharedAsset) else "table",
        "share": table.share,
        "schema": table.schema,
        "name": table.name,
        "catalog": table.catalog,
        "identifier": table.identifier,
        "ref": table.ref,
        "access_modes": table.access_modes,
        "history": table.history,
        "tags": dict(table.tags),
    }


def allowed_positions(content: bytes, count: int) -> frozenset[int]:
    """Return the positions of the allowed tables in a response."""
    document = _object(content)
    if document is None:
        raise InvalidDecision("the response is not a JSON object")
    if "result" not in document:
        raise InvalidDecision(
            "the rule is undefined: load its policy into the server, or correct 'path'"
        )
    result = document["result"]
    if not isinstance(result, list):
        raise InvalidDecision(
            f"the rule's value is {_kind(result)}, but must be a set of positions in input.tables: "
            "allow contains position if { some position, table in input.tables; … }"
        )
    for position in result:
        # `True` is an int for Python.
        if type(position) is not int or not 0 <= position < count:
            raise InvalidDecision(
                f"the rule's value contains {str(position)[:40]!r} ({_kind(position)}), but "
                f"input.tables has the positions 0 to {count - 1}"
            )
    return frozenset(result)


def reason(content: bytes) -> str:
    """Return code and message of an error response, for the log; empty if there is none."""
    document = _object(content) or {}
    parts = (document.get("code"), document.get("message"))
    text = " ".join(part for part in parts if isinstance(part, str))
    return " ".join(text.split())[:_LONGEST_REASON]


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _kind(value: object) -> str:
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case dict():
            return "an object"
        case list():
            return "an array"
        case _:
            return "null"
