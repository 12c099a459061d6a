"""Addresses beside the Delta Sharing door, which need no bearer token."""

from __future__ import annotations

from sluicegate.sharing.openapi.parameters import in_header, in_path, in_query
from sluicegate.sharing.openapi.pieces import Schema, choice, text
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
        "/healthz": {"get": _health()},
        "/content/{storage}/{path}": {
            "parameters": [
                in_path("storage", text("Name of the storage.")),
                in_path("path", text("Path of the file; it may hold slashes.")),
                *(in_query(key, schema, required=True) for key, schema in _SIGNED.items()),
                in_header("Range", text("One range of bytes: `bytes=0-1023`.")),
                *(in_header(key, text("RFC 9110, section 13.")) for key in _CONDITIONS),
            ],
            "get": _content("readFile", "Read a file by a link that a query answered"),
            "head": _content("checkFile", "Size and state of such a file"),
        },
    }


def _health() -> Schema:
    return {
        "operationId": "health",
        "summary": "Whether the gateway can serve",
        "security": [],
        "responses": {"200": json_answer("It can.", "Health"), **refusals(("500", "503"))},
    }


def _content(identity: str, summary: str) -> Schema:
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
            **refusals(("403", "404", "500", "503")),
        },
    }
