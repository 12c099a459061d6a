"""Access tokens of Google."""

from __future__ import annotations

from dataclasses import dataclass, field

from sluicegate.api import StorageError, TemporaryCredentials


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An OAuth token, and when Google refuses it (epoch milliseconds); `repr` does not show it."""

    value: str = field(repr=False)
    expires_at: int


def given_token(given: TemporaryCredentials) -> AccessToken:
    """The token that a vendor gave, in the plugin's own form.

    Raises:
        StorageError: The credentials are another cloud's, or incomplete.
    """
    if given.kind != "gcp" or "oauth_token" not in given.secret or given.expires_at is None:
        raise StorageError(
            "the credentials given for this table do not open its storage; ask the gateway's operator",
            detail=f"{given.kind} credentials ({sorted(given.secret)}) for {given.location}",
        )
    return AccessToken(given.secret["oauth_token"], given.expires_at)
