"""Operations and path items of the Delta Sharing protocol and OpenSharing."""

from __future__ import annotations

from sluicegate.protocols.openapi import parameters as given
from sluicegate.protocols.openapi.bodies import body
from sluicegate.protocols.openapi.responses import refusals
from sluicegate.protocols.openapi.schemas import Schema

# Statuses of errors: of every operation, of those with a name in the path, and of those with a body.
ALWAYS = ("400", "401", "403", "429", "500", "503")
NAMED = (*ALWAYS, "404")
SENT = (*NAMED, "413")


def operation(
    identity: str,
    summary: str,
    ok: Schema,
    *,
    parameters: list[Schema] | None = None,
    errors: tuple[str, ...] = NAMED,
    sends: str | None = None,
) -> Schema:
    """One operation.

    Args:
        identity: Its `operationId`.
        summary: Its name in the protocol.
        ok: The response with status 200.
        parameters: Parameters of the query string and headers. Those of the path belong to the path
            item.
        errors: Additional statuses that it can return.
        sends: Name of the schema of its body.
    """
    described: Schema = {"operationId": identity, "summary": summary}
    if parameters:
        described["parameters"] = parameters
    if sends is not None:
        described["requestBody"] = body(sends)
    return {**described, "responses": {"200": ok, **refusals(errors)}}


def item(names: tuple[str, ...], **operations: Schema) -> Schema:
    """A path item with the names in its path, and its operations by method."""
    return {"parameters": given.named(names), **operations}
