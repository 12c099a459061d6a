"""Addresses beside the Delta Sharing door, which need no bearer token."""

from __future__ import annotations

from sluicegate.access.oauth.endpoint import ICEBERG_TOKENS
from sluicegate.access.oauth.requests import FORM, SCOPES
from sluicegate.access.profile import ICEBERG_PATH, TOKEN_ENDPOINT_PATH
from sluicegate.http.health import LIVE, READY, READY_BEFORE
from sluicegate.sharing.derived_links import SPACE
from sluicegate.sharing.openapi.parameters import in_header, in_path, in_query
from sluicegate.sharing.openapi.pieces import (
    Schema,
    choice,
    only,
    record,
    schema_ref,
    text,
    whole,
)
from sluicegate.sharing.openapi.responses import json_answer, refusal, refusals, request_id

_BYTES: Schema = {"application/octet-stream": {}}
_CONDITIONS = ("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range")
_SIGNED = {
    "X-Amz-Algorithm": choice("The algorithm.", "AWS4-HMAC-SHA256"),
    "X-Amz-Date": text("When it was signed.", pattern="^[0-9]{8}T[0-9]{6}Z$"),
    "X-Amz-Expires": text("Seconds that it lives.", pattern="^[0-9]{1,9}$"),
    "X-Amz-Signature": text("The credential.", pattern="^[0-9a-f]{64}$"),
}


def paths() -> dict[str, Schema]:
    """Path items, by whole addresses."""
    return {
        LIVE: {"get": _live()},
        READY: {"get": _ready("ready")},
        READY_BEFORE: {"get": _ready("health")},
        TOKEN_ENDPOINT_PATH: {"post": _token("token")},
        ICEBERG_PATH + ICEBERG_TOKENS: {"post": _token("icebergToken")},
        "/content/{storage}/{path}": {
            "parameters": [
                in_path("storage", text("Name of the storage.")),
                in_path("path", text("Path of the file; it may hold slashes.")),
                *_of_links(),
            ],
            "get": _content("readFile", "Read a file by a link that a query answered"),
            "head": _content("checkFile", "Size and state of such a file"),
        },
        f"/content/{SPACE}/{{link}}": {
            "parameters": [in_path("link", text("What the file is made from.")), *_of_links()],
            "get": _content(
                "readDerivedFile",
                "Read a deletion vector that the gateway makes, by such a link",
                "400",
            ),
            "head": _content("checkDerivedFile", "Size and state of such a deletion vector", "400"),
        },
    }


def _of_links() -> list[Schema]:
    """Parameters of every signed link."""
    return [
        *(in_query(key, schema, required=True) for key, schema in _SIGNED.items()),
        in_header("Range", text("One range of bytes: `bytes=0-1023`.")),
        *(in_header(key, text("RFC 9110, section 13.")) for key in _CONDITIONS),
    ]


def _live() -> Schema:
    return {
        "operationId": "live",
        "summary": "Whether the process answers",
        "security": [],
        "responses": {"200": json_answer("It does.", "Health"), **refusals(("500",))},
    }


def _ready(name: str) -> Schema:
    return {
        "operationId": name,
        "summary": "Whether the gateway can serve, which takes its database",
        "security": [],
        "responses": {"200": json_answer("It can.", "Health"), **refusals(("500", "503"))},
    }


def schemas() -> dict[str, Schema]:
    """What these addresses take and answer (RFC 6749, sections 4.4 and 5.2)."""
    return {
        "Health": only("status", choice("Always this.", "ok")),
        "TokenRequest": record(
            "The client proves itself here, or by HTTP Basic.",
            {"grant_type": choice("The one that there is.", "client_credentials")},
            {
                "scope": text(f"Some of {', '.join(SCOPES)}: they mean the same."),
                "client_id": text("`clientId` of the profile."),
                "client_secret": text("`clientSecret` of the profile."),
            },
        ),
        "AccessToken": record(
            "A short-lived bearer token.",
            {
                "access_token": text("Send it as `Authorization: Bearer`."),
                "token_type": choice("Always this.", "bearer"),
                "expires_in": whole("Seconds."),
                "scope": text("What was asked for."),
            },
        ),
        "OAuthError": record(
            "Why there is no token.",
            {"error": text("A code of RFC 6749."), "error_description": text("For people.")},
        ),
    }


def _token(identity: str) -> Schema:
    return {
        "operationId": identity,
        "summary": "Get an access token for OAuth client credentials",
        "security": [],
        "requestBody": {
            "required": True,
            "content": {FORM: {"schema": schema_ref("TokenRequest")}},
        },
        "responses": {
            "200": json_answer("A token.", "AccessToken"),
            "400": json_answer("The request is malformed.", "OAuthError"),
            "401": json_answer("Not a client, or not its secret.", "OAuthError"),
            "429": json_answer("Too many refused attempts.", "OAuthError"),
            **refusals(("413", "500", "503")),
        },
    }


def _content(identity: str, summary: str, *more: str) -> Schema:
    headers = {"ETag": {"schema": text("State of the file.")}, **request_id()}
    return {
        "operationId": identity,
        "summary": summary,
        "security": [],
        "responses": {
            "200": {"description": "The whole file.", "headers": headers, "content": _BYTES},
            "206": {"description": "The range.", "headers": headers, "content": _BYTES},
            "304": {"description": "The file is as the client has it.", "headers": headers},
            "412": refusal("The file is in another state.", "PRECONDITION_FAILED"),
            "416": refusal("No byte of the file is in the range.", "RANGE_NOT_SATISFIABLE"),
            **refusals((*more, "403", "404", "429", "500", "503")),
        },
    }
