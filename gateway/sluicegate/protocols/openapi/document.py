"""The OpenAPI 3.1 document of all endpoints for recipients."""

from __future__ import annotations

from typing import Any

from sluicegate import __version__
from sluicegate.access.authentication.oauth.requests import SCOPE, SCOPES
from sluicegate.access.recipients.profile import ICEBERG_PATH, TOKEN_ENDPOINT_PATH
from sluicegate.protocols.openapi import (
    actions,
    bodies,
    credentials,
    hadoop_tokens,
    iceberg,
    lines,
    listings,
    paths,
)
from sluicegate.protocols.openapi import other_endpoints as elsewhere
from sluicegate.protocols.openapi.address import DOCUMENT
from sluicegate.protocols.openapi.assets.schemas import schemas as asset_schemas
from sluicegate.protocols.openapi.responses import (
    error_responses,
    error_schema,
    json_answer,
    refusals,
)
from sluicegate.protocols.openapi.schemas import Schema, record

_ABOUT = """\
Recipients list what was shared with them, and read tables through presigned URLs or with
temporary credentials for their directories. They also list volumes, models and skills, and read them
with temporary credentials.

Every path that supports GET also supports HEAD. Errors are always JSON with `errorCode` and
`message`. A path that does not exist returns 404, and an unsupported method returns 405. Responses
about tables are NDJSON: here they are described as arrays whose items are the lines. Below `/iceberg`,
each share is a read-only Iceberg REST catalog, with the errors of that specification.
"""


def document(public_url: str, prefix: str) -> dict[str, Any]:
    """The document.

    Args:
        public_url: The URL at which recipients reach the gateway.
        prefix: The path of the Delta Sharing protocol below it.
    """
    sharing = {prefix + path: item for path, item in paths.paths().items()}
    catalog = {ICEBERG_PATH + path: item for path, item in iceberg.paths().items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sluicegate: Delta Sharing",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": public_url}],
        "security": [{"bearerToken": []}, {"accessToken": [SCOPE]}],
        "paths": {**sharing, prefix + DOCUMENT: {"get": _document()}, **elsewhere.paths(), **catalog},
        "components": {
            "securitySchemes": {"bearerToken": _bearer(), "accessToken": _oauth(public_url)},
            "responses": error_responses(),
            "schemas": _schemas(),
        },
    }


def _document() -> Schema:
    return {
        "operationId": "openapi",
        "summary": "This document",
        "security": [],
        "responses": {"200": json_answer("OpenAPI 3.1.", "Document"), **refusals(("500",))},
    }


def _bearer() -> Schema:
    return {
        "type": "http",
        "scheme": "bearer",
        "description": "The `bearerToken` of a recipient's profile.",
    }


def _oauth(public_url: str) -> Schema:
    scopes = dict.fromkeys(SCOPES, "The recipient's shares, schemas, and tables.")
    flow = {"tokenUrl": public_url + TOKEN_ENDPOINT_PATH, "scopes": scopes}
    return {
        "type": "oauth2",
        "description": "For profiles of version 2 with client credentials.",
        "flows": {"clientCredentials": flow},
    }


def _schemas() -> dict[str, Schema]:
    return {
        "Error": error_schema(),
        **listings.schemas(),
        **asset_schemas(),
        **bodies.schemas(),
        **credentials.schemas(),
        **hadoop_tokens.schemas(),
        **lines.schemas(),
        **actions.schemas(),
        **elsewhere.schemas(),
        **iceberg.schemas(),
        "Document": record("An OpenAPI document.", {"openapi": {"const": "3.1.0"}}),
    }
