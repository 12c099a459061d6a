"""What all operations of the Iceberg catalog have in common."""

from __future__ import annotations

from sluicegate.protocols.openapi.parameters import in_path
from sluicegate.protocols.openapi.responses import json_answer, request_id
from sluicegate.protocols.openapi.schemas import Schema, text

NAMESPACES = "/v1/shares/{share}/namespaces"
NAMESPACE = NAMESPACES + "/{namespace}"
TABLE = NAMESPACE + "/tables/{table}"
DONE: Schema = {"204": {"description": "It exists.", "headers": request_id()}}
_REFUSED = {
    "400": "The request cannot be served, or the table's metadata cannot be read.",
    "401": "The bearer token is missing, malformed, unknown, expired or revoked.",
    "403": "The recipient is not allowed to do this: the catalog is read-only.",
    "404": "It does not exist, was not granted, or this catalog does not offer it.",
    "413": "The body is larger than the gateway accepts.",
    "429": "The recipient has sent too many requests, or was offered too much in a day.",
    "500": "An internal error.",
    "503": "A catalog or store does not respond now, or there are too many concurrent requests.",
}
_PARTS = {
    "share": text("Name of the share, the catalog's warehouse."),
    "namespace": text("Name of a schema of the share."),
    "table": text("Name of the table."),
    "plan_id": text("The id of a plan."),
    "path": text("Any other path, which can contain slashes."),
}


def get(identity: str, summary: str, schema: str, *parameters: Schema) -> Schema:
    """An operation that returns JSON."""
    return operation(identity, summary, {"200": json_answer("OK.", schema)}, *parameters)


def operation(identity: str, summary: str, ok: Schema, *parameters: Schema) -> Schema:
    """An operation, with the refusals that all of them share."""
    described: Schema = {"operationId": identity, "summary": summary}
    if parameters:
        described["parameters"] = list(parameters)
    refused = {status: json_answer(why, "IcebergError") for status, why in _REFUSED.items()}
    return {**described, "responses": {**ok, **refused}}


def item(*names: str, **operations: Schema) -> Schema:
    """The operations of a path with these parameters."""
    return {"parameters": [in_path(name, _PARTS[name]) for name in names], **operations}
