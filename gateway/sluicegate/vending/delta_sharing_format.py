"""Formats temporary credentials for Delta Sharing.

Source: Delta Sharing protocol, "Generate Temporary Table Credential"; directory access proposal,
"TemporaryCredentials", for R2.
"""

from __future__ import annotations

from typing import Any

from sluicegate.api.vending import TemporaryCredentials

_SESSION = {
    "accessKeyId": "access_key_id",
    "secretAccessKey": "secret_access_key",
    "sessionToken": "session_token",
}
_SPELLINGS = {
    "aws": ("awsTempCredentials", _SESSION),
    "azure": ("azureUserDelegationSas", {"sasToken": "sas_token"}),
    "gcp": ("gcpOauthToken", {"oauthToken": "oauth_token"}),
    "r2": ("r2Credentials", _SESSION),
}


def sharing_json(credentials: TemporaryCredentials) -> dict[str, Any]:
    """The object `TemporaryCredentials`, with the secret of exactly one cloud and the actual expiry."""
    member, names = _SPELLINGS[credentials.kind]
    return {
        "location": credentials.location,
        member: {spelled: credentials.secret[name] for spelled, name in names.items()},
        "expirationTime": credentials.expires_at,
    }
