"""The Delta Sharing spelling of temporary credentials.

Source: delta-sharing-protocol.md, "Generate Temporary Table Credential"; directory-based-access.md,
"TemporaryCredentials", for R2.
"""

from __future__ import annotations

from typing import Any

from sluicegate.nouns import TemporaryCredentials

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
    """The object `TemporaryCredentials`, with exactly one cloud's secret and the real expiry.

    Args:
        credentials: Complete ones that expire, as `Vending.issue` answers them.
    """
    member, names = _SPELLINGS[credentials.kind]
    return {
        "location": credentials.location,
        member: {spelled: credentials.secret[name] for spelled, name in names.items()},
        "expirationTime": credentials.expires_at,
    }
