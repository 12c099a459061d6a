"""Schemas of the request and response for Hadoop delegation tokens."""

from __future__ import annotations

from sluicegate.protocols.openapi.responses import json_answer
from sluicegate.protocols.openapi.schemas import (
    Schema,
    choice,
    flag,
    many,
    mapping,
    record,
    schema_ref,
    text,
    whole,
)

_FILE = "application/octet-stream"


def schemas() -> dict[str, Schema]:
    """The body and the response."""
    return {
        "HadoopTokenRequest": _request(),
        "HadoopTokens": record(
            "A token for each bucket.",
            {
                "tokens": many(schema_ref("HadoopToken"), "In the order of the tables."),
                "file": text("The token file, in base64.", contentEncoding="base64"),
            },
        ),
        "HadoopToken": _token(),
        "HadoopTokenTable": record(
            "A table that the token grants access to.",
            {
                "name": text("`share.schema.table`."),
                "location": text("The location for Hadoop, `s3a://bucket/…`."),
            },
        ),
    }


def answer() -> Schema:
    """The token file for clients that accept its bytes, else JSON."""
    described = json_answer(
        "The tokens, or only their file for clients that accept its bytes.", "HadoopTokens"
    )
    described["content"][_FILE] = {"schema": {"type": "string", "format": "binary"}}
    return described


def _request() -> Schema:
    return record(
        "Which tokens are requested. Unknown members are ignored.",
        {},
        {
            "hadoopVersion": text("The recipient's hadoop-aws, such as `3.4.2`. Default: `3.4`."),
            "binding": text(
                "`session` (the default), `role`, `full`, a plugin's binding, or a token kind."
            ),
            "tables": many(text("`share.schema.table`."), "Additional tables.", maxItems=100),
            "tokens": many(
                text("A token in URL form."), "Tokens that the recipient already has.", maxItems=100
            ),
            "renewer": text("The renewer in the token.", maxLength=1024),
            "origin": text("The origin in the token.", maxLength=1024),
            "format": choice("Format of the token file.", "writable", "protobuf"),
        },
    )


def _token() -> Schema:
    return record(
        "A token, and the settings for its use.",
        {
            "service": text("`s3a://bucket`."),
            "kind": text("Such as `S3ADelegationToken/Session`."),
            "uuid": text("An id that appears in the store's logs and in the provider's ledger."),
            "expirationTime": whole("When it expires, epoch milliseconds. `null` means never.")
            | {"type": ["integer", "null"]},
            "tables": many(schema_ref("HadoopTokenTable"), "The tables that it grants access to."),
            "bonded": flag("Whether it is a token that the request listed."),
            "token": text("The token in URL form."),
            "configuration": mapping(text("A value."), "Hadoop properties for its bucket."),
        },
    )
