"""Endpoints outside the Delta Sharing protocol, which need no bearer token."""

from __future__ import annotations

from sluicegate.access.authentication.oauth.endpoint import ICEBERG_TOKENS
from sluicegate.access.authentication.oauth.requests import FORM, SCOPES
from sluicegate.access.recipients.profile import ICEBERG_PATH, TOKEN_ENDPOINT_PATH
from sluicegate.http.health import LIVE, READY, READY_BEFORE
from sluicegate.protocols.derived_files.links import SPACE
from sluicegate.protocols.iceberg_rest.file_access.generated_links import SPACE as ICEBERG_SPACE
from sluicegate.protocols.iceberg_rest.file_access.sign_request import ENDPOINT_PATH
from sluicegate.protocols.openapi.activation import paths as activation
from sluicegate.protocols.openapi.parameters import in_header, in_path, in_query
from sluicegate.protocols.openapi.responses import json_answer, refusal, refusals, request_id
from sluicegate.protocols.openapi.schemas import (
    Schema,
    choice,
    only,
    record,
    schema_ref,
    text,
    whole,
)

_BYTES: Schema = {"application/octet-stream": {}}
_METHODS = ("get", "head", "post", "put", "patch", "delete")
_CONDITIONS = ("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range")
_SIGNED = {
    "X-Amz-Algorithm": choice("The algorithm.", "AWS4-HMAC-SHA256"),
    "X-Amz-Date": text("When the link was signed.", pattern="^[0-9]{8}T[0-9]{6}Z$"),
    "X-Amz-Expires": text("Lifetime in seconds.", pattern="^[0-9]{1,9}$"),
    "X-Amz-Signature": text("The signature, which is the credential.", pattern="^[0-9a-f]{64}$"),
}


def paths() -> dict[str, Schema]:
    """Path items, by complete paths."""
    return {
        LIVE: {"get": _live()},
        READY: {"get": _ready("ready")},
        READY_BEFORE: {"get": _ready("health")},
        TOKEN_ENDPOINT_PATH: {"post": _token("token")},
        ICEBERG_PATH + ICEBERG_TOKENS: {"post": _token("icebergToken")},
        **activation.paths(),
        "/content/{storage}/{path}": {
            "parameters": [
                in_path("storage", text("Name of the storage.")),
                in_path("path", text("Path of the file, which can contain slashes.")),
                *_of_links(),
            ],
            "get": _content("readFile", "Read a file through a link that a query returned"),
            "head": _content("checkFile", "Get the size and state of such a file"),
        },
        f"/content/{ICEBERG_SPACE}/{{link}}": {
            "parameters": [in_path("link", text("The table, its version and the file.")), *_of_links()],
            "get": _content(
                "readIcebergFile", "Read a file that the gateway generates for Iceberg clients", "400"
            ),
            "head": _content("checkIcebergFile", "Get the size and state of such a file", "400"),
        },
        f"{ENDPOINT_PATH}/{{path}}": {
            "parameters": [in_path("path", text("A bucket and a key."))],
            **{method: _unsigned(method) for method in _METHODS},
        },
        f"/content/{SPACE}/{{link}}": {
            "parameters": [in_path("link", text("What the file is generated from.")), *_of_links()],
            "get": _content(
                "readDerivedFile",
                "Read a deletion vector that the gateway generates, through such a link",
                "400",
            ),
            "head": _content(
                "checkDerivedFile", "Get the size and state of such a deletion vector", "400"
            ),
        },
    }


def _unsigned(method: str) -> Schema:
    return {
        "operationId": f"refuseUnsigned{method.title()}",
        "summary": "Refuse requests that an Iceberg client did not send to be signed",
        "security": [],
        "responses": {**refusals(("403", "429", "500", "503"))},
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
        "summary": "Whether the process responds",
        "security": [],
        "responses": {"200": json_answer("The process responds.", "Health"), **refusals(("500",))},
    }


def _ready(name: str) -> Schema:
    return {
        "operationId": name,
        "summary": "Whether the gateway can serve requests, which requires its database",
        "security": [],
        "responses": {
            "200": json_answer("The gateway can serve requests.", "Health"),
            **refusals(("500", "503")),
        },
    }


def schemas() -> dict[str, Schema]:
    """The requests and responses of these endpoints (RFC 6749, sections 4.4 and 5.2)."""
    return {
        **activation.schemas(),
        "Health": only("status", choice("Always this.", "ok")),
        "TokenRequest": record(
            "The client authenticates here, or with HTTP Basic.",
            {"grant_type": choice("The only supported grant type.", "client_credentials")},
            {
                "scope": text(f"One or several of {', '.join(SCOPES)}, which are equivalent."),
                "client_id": text("`clientId` of the profile."),
                "client_secret": text("`clientSecret` of the profile."),
            },
        ),
        "AccessToken": record(
            "A short-lived bearer token.",
            {
                "access_token": text("Send it as `Authorization: Bearer`."),
                "token_type": choice("The only token type.", "bearer"),
                "expires_in": whole("Seconds."),
                "scope": text("The requested scope."),
            },
        ),
        "OAuthError": record(
            "Why there is no token.",
            {
                "error": text("An error code of RFC 6749."),
                "error_description": text("A message for people."),
            },
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
            "401": json_answer("The client is unknown, or the secret is wrong.", "OAuthError"),
            "429": json_answer("Too many failed attempts.", "OAuthError"),
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
            "200": {"description": "The entire file.", "headers": headers, "content": _BYTES},
            "206": {"description": "The requested range.", "headers": headers, "content": _BYTES},
            "304": {"description": "The client's copy of the file is current.", "headers": headers},
            "412": refusal("The file does not match the precondition.", "PRECONDITION_FAILED"),
            "416": refusal("No byte of the file is in the range.", "RANGE_NOT_SATISFIABLE"),
            **refusals((*more, "403", "404", "429", "500", "503")),
        },
    }
