"""Temporary credentials (delta-sharing-protocol.md, "Generate Temporary Table Credential")."""

from __future__ import annotations

from sluicegate.sharing.openapi.pieces import Schema, only, record, schema_ref, text, whole


def schemas() -> dict[str, Schema]:
    """The body, and the answer with the secret of exactly one cloud."""
    return {
        "CredentialsRequest": record(
            "Which directory is wanted. Unknown members are ignored.",
            {},
            {"location": text("The table's `location` or an auxiliary one; by default the former.")},
        ),
        "TemporaryTableCredentials": only("credentials", schema_ref("TemporaryCredentials")),
        "TemporaryCredentials": _credentials(),
        "SessionCredentials": record(
            "Keys of a session.",
            {
                "accessKeyId": text("Names the session."),
                "secretAccessKey": text("Signs requests."),
                "sessionToken": text("Goes with each request."),
            },
        ),
        "UserDelegationSas": record("A SAS of Azure.", {"sasToken": text("A query string.")}),
        "OauthToken": record("A token of Google Cloud.", {"oauthToken": text("A bearer token.")}),
    }


def _credentials() -> Schema:
    clouds = {
        "awsTempCredentials": "SessionCredentials",
        "azureUserDelegationSas": "UserDelegationSas",
        "gcpOauthToken": "OauthToken",
        "r2Credentials": "SessionCredentials",
    }
    described = record(
        "They read the directory and nothing else, until they expire.",
        {
            "location": text("The directory that they open."),
            "expirationTime": whole("When they really expire, epoch milliseconds."),
        },
        {member: schema_ref(name) for member, name in clouds.items()},
    )
    return described | {"oneOf": [{"required": [member]} for member in clouds]}
