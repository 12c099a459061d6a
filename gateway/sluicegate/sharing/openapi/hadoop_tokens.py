"""Hadoop's delegation tokens, as `sharing.hadoop_tokens` reads and answers."""

from __future__ import annotations

from sluicegate.sharing.openapi.pieces import (
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
from sluicegate.sharing.openapi.responses import json_answer

_FILE = "application/octet-stream"


def schemas() -> dict[str, Schema]:
    """The body and the answer."""
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
            "A table that the token opens.",
            {
                "name": text("`share.schema.table`."),
                "location": text("Where Hadoop reads it, `s3a://bucket/…`."),
            },
        ),
    }


def answer() -> Schema:
    """The file for who accepts its bytes, else JSON."""
    described = json_answer("The tokens; their file alone for who accepts its bytes.", "HadoopTokens")
    described["content"][_FILE] = {"schema": {"type": "string", "format": "binary"}}
    return described


def _request() -> Schema:
    return record(
        "Which tokens are wanted. Unknown members are ignored.",
        {},
        {
            "hadoopVersion": text("The recipient's hadoop-aws, such as `3.4.2`; `3.4` by default."),
            "binding": text("`session` (the default), `role`, `full`, a plugin's, or a kind."),
            "tables": many(text("`share.schema.table`."), "Further tables.", maxItems=100),
            "tokens": many(text("In URL form."), "Tokens that the recipient has.", maxItems=100),
            "renewer": text("Who is named as renewer.", maxLength=1024),
            "origin": text("Where the token says that it comes from.", maxLength=1024),
            "format": choice("Of the file.", "writable", "protobuf"),
        },
    )


def _token() -> Schema:
    return record(
        "A token, and what its user sets.",
        {
            "service": text("`s3a://bucket`."),
            "kind": text("Such as `S3ADelegationToken/Session`."),
            "uuid": text("Appears in the store's logs, and in the provider's ledger."),
            "expirationTime": whole("When it ends, epoch milliseconds; `null` is never.")
            | {"type": ["integer", "null"]},
            "tables": many(schema_ref("HadoopTokenTable"), "What it opens."),
            "bonded": flag("It is the one that was shown."),
            "token": text("The URL form."),
            "configuration": mapping(text("A value."), "Hadoop properties for its bucket."),
        },
    )
