"""Responses: statuses with their headers and bodies."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from sluicegate.access.activation.link import LinkEnded
from sluicegate.api import errors
from sluicegate.http.responses import JSON, NDJSON
from sluicegate.protocols.delta_sharing.capabilities import HEADER
from sluicegate.protocols.delta_sharing.request import FILE_ID_HASH
from sluicegate.protocols.delta_sharing.response import VERSION_HEADER
from sluicegate.protocols.openapi.schemas import Schema, choice, record, schema_ref, text, whole

_ERRORS: dict[str, tuple[type[errors.SluicegateError], ...]] = {
    "400": (
        errors.InvalidRequest,
        errors.MalformedRequest,
        errors.UnsupportedOperation,
        errors.TableUnreadable,
    ),
    "401": (errors.Unauthenticated,),
    "403": (errors.PermissionDenied,),
    "404": (errors.NotFound,),
    "410": (LinkEnded,),
    "413": (errors.PayloadTooLarge,),
    "429": (errors.RateLimited,),
    "500": (errors.SluicegateError,),
    "503": (errors.Unavailable,),
}
_ERROR_HEADERS: dict[str, Schema] = {
    "401": {"WWW-Authenticate": {"required": True, "schema": text("`Bearer`.")}},
    "429": {
        "Retry-After": {"required": True, "schema": whole("Seconds.")},
        "RateLimit": {"required": False, "schema": text("What is left of the recipient's limits.")},
        "RateLimit-Policy": {"required": False, "schema": text("The recipient's limits.")},
    },
    "503": {"Retry-After": {"required": True, "schema": whole("Seconds.")}},
}


def error_schema() -> Schema:
    """The format of all errors."""
    return record(
        "What is wrong, where, and what to do about it.",
        {"errorCode": text("A stable code for programs."), "message": text("A message for people.")},
    )


def error_responses() -> dict[str, Schema]:
    """A response for each error status, by the status."""
    return {
        status: {
            "description": " ".join(_says(kind) for kind in kinds),
            "headers": {**request_id(), **_ERROR_HEADERS.get(status, {})},
            "content": {_media_type(JSON): {"schema": _error(*(kind.code for kind in kinds))}},
        }
        for status, kinds in _ERRORS.items()
    }


def refusals(statuses: Iterable[str]) -> dict[str, Schema]:
    """References to the responses of these statuses."""
    return {status: {"$ref": f"#/components/responses/{status}"} for status in statuses}


def json_answer(description: str, schema: str) -> Schema:
    """A JSON object."""
    return {
        "description": description,
        "headers": request_id(),
        "content": {_media_type(JSON): {"schema": schema_ref(schema)}},
    }


def version_answer() -> Schema:
    """A response without a body. The version is a header ("Query Table Version")."""
    return {"description": "The version is in the header.", "headers": _version() | request_id()}


def lines_answer(description: str, schema: str) -> Schema:
    """A response with NDJSON lines about a table."""
    agreed = text(
        "The negotiated capabilities, in lowercase: `responseformat=delta;includeendstreamaction=true`."
    )
    hashes = choice("The request's choice.", "parquet", "delta")
    return {
        "description": description,
        "headers": {
            **_version(),
            HEADER: {"required": True, "schema": agreed},
            FILE_ID_HASH: {"schema": hashes},
            **request_id(),
        },
        "content": {_media_type(NDJSON): {"schema": schema_ref(schema)}},
    }


def request_id() -> dict[str, Schema]:
    """The header that every response has."""
    schema = text("The request's id in the gateway's log. Include it in reports to the provider.")
    return {"x-request-id": {"required": True, "schema": schema}}


def refusal(description: str, code: str) -> Schema:
    """An error that only one kind of endpoint returns."""
    return {"description": description, "content": {_media_type(JSON): {"schema": _error(code)}}}


def _version() -> dict[str, Schema]:
    return {VERSION_HEADER: {"required": True, "schema": whole("Version of the table.")}}


def _error(*codes: str) -> Schema:
    allowed = {"type": "object", "properties": {"errorCode": {"enum": sorted(set(codes))}}}
    return {"allOf": [schema_ref("Error"), allowed]}


def _says(kind: type[errors.SluicegateError]) -> str:
    if kind is errors.SluicegateError:
        return "An internal error."
    return inspect.cleandoc(kind.__doc__ or "").splitlines()[0]


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0]
