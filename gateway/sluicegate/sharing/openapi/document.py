"""The OpenAPI 3.1 document of what the gateway serves to recipients."""

from __future__ import annotations

from typing import Any

from sluicegate import __version__
from sluicegate.access.oauth.requests import SCOPE, SCOPES
from sluicegate.access.profile import ICEBERG_PATH, TOKEN_ENDPOINT_PATH
from sluicegate.sharing.openapi import (
    actions,
    bodies,
    credentials,
    elsewhere,
    hadoop_tokens,
    iceberg,
    lines,
    listings,
    paths,
)
from sluicegate.sharing.openapi.pieces import Schema, record
from sluicegate.sharing.openapi.responses import (
    error_responses,
    error_schema,
    json_answer,
    refusals,
)

DOCUMENT = "/openapi.json"

_ABOUT = """\
Recipients list what was shared with them, and read tables by presigned URLs or with
temporary credentials for their directories.

Every address that answers GET answers HEAD, too. Errors are always JSON with `errorCode` and
`message`; an address that does not exist is a 404, a method that it does not answer a 405. Answers
about tables are NDJSON: here they are described as arrays whose items are the lines. Below `/iceberg`
each share is a read-only Iceberg REST catalog, with that one's errors.
"""


def document(public_url: str, prefix: str) -> dict[str, Any]:
    """The document.

    Args:
        public_url: How recipients reach the gateway.
        prefix: Where the Delta Sharing door is below it.
    """
    door = {prefix + path: item for path, item in paths.paths().items()}
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
        "paths": {**door, prefix + DOCUMENT: {"get": _document()}, **elsewhere.paths(), **catalog},
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
    scopes = dict.fromkeys(SCOPES, "What the recipient was granted.")
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
        **bodies.schemas(),
        **credentials.schemas(),
        **hadoop_tokens.schemas(),
        **lines.schemas(),
        **actions.schemas(),
        **elsewhere.schemas(),
        **iceberg.schemas(),
        "Document": record("An OpenAPI document.", {"openapi": {"const": "3.1.0"}}),
    }
