"""Temporary credentials (Delta Sharing protocol, "Generate Temporary Table Credential")."""

from __future__ import annotations

from sluicegate.protocols.openapi.schemas import Schema, only, record, schema_ref, text, whole


def schemas() -> dict[str, Schema]:
    """The body, and the response with the secret of exactly one cloud."""
    return {
        "CredentialsRequest": record(
            "Which directory is requested. Unknown members are ignored.",
            {},
            {"location": text("The table's `location` or an auxiliary one. Default: `location`.")},
        ),
        "TemporaryTableCredentials": only("credentials", schema_ref("TemporaryCredentials")),
        "TemporaryCredentials": _credentials(),
        "SessionCredentials": record(
            "Keys of a session.",
            {
                "accessKeyId": text("Names the session."),
                "secretAccessKey": text("The secret that signs requests."),
                "sessionToken": text("Sent with each request."),
            },
        ),
        "UserDelegationSas": record(
            "An Azure shared access signature (SAS).", {"sasToken": text("A query string.")}
        ),
        "OauthToken": record("A Google Cloud token.", {"oauthToken": text("A bearer token.")}),
    }


def _credentials() -> Schema:
    clouds = {
        "awsTempCredentials": "SessionCredentials",
        "azureUserDelegationSas": "UserDelegationSas",
        "gcpOauthToken": "OauthToken",
        "r2Credentials": "SessionCredentials",
    }
    described = record(
        "Credentials that can only read the directory, until they expire.",
        {
            "location": text("The directory that they grant access to."),
            "expirationTime": whole("When they expire, epoch milliseconds."),
        },
        {member: schema_ref(name) for member, name in clouds.items()},
    )
    return described | {"oneOf": [{"required": [member]} for member in clouds]}
