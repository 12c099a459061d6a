"""Google's access tokens."""

from __future__ import annotations

from dataclasses import dataclass, field

from sluicegate.api import StorageError, TemporaryCredentials


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An OAuth token with its expiry (epoch milliseconds); `repr` doesn't show the token."""

    value: str = field(repr=False)
    expires_at: int


def parse_vended_token(vended: TemporaryCredentials) -> AccessToken:
    """Return the token of vended credentials.

    Raises:
        StorageError: The credentials are for another cloud, or incomplete.
    """
    if vended.kind != "gcp" or "oauth_token" not in vended.secret or vended.expires_at is None:
        raise StorageError(
            "the credentials vended for this table are not valid for its storage; ask the gateway's "
            "operator",
            detail=f"{vended.kind} credentials ({sorted(vended.secret)}) for {vended.location}",
        )
    return AccessToken(vended.secret["oauth_token"], vended.expires_at)
