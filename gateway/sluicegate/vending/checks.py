"""Whether credentials that a vendor answered may be handed on: an upstream can be wrong."""

from __future__ import annotations

from collections.abc import Callable

from sluicegate.api import Scope, StorageError, TemporaryCredentials

_SESSION = ("access_key_id", "secret_access_key", "session_token")
_SECRETS = {"aws": _SESSION, "r2": _SESSION, "azure": ("sas_token",), "gcp": ("oauth_token",)}
# The binding that passes long-lived keys on (s3a-delegation-tokens.md): no session, no end.
_FULL = "full"
# Clouds reckon by clocks of their own.
_SKEW_MS = 60_000


def check_credentials(
    credentials: TemporaryCredentials, scope: Scope, now: int, canonical: Callable[[str], str]
) -> None:
    """Make sure that credentials are complete, and open what was asked for as long as was asked.

    Args:
        credentials: What the vendor answered.
        scope: What it was asked for.
        now: Epoch milliseconds, after it answered.
        canonical: The one spelling of a location.

    Raises:
        StorageError: They are not; the reason is private.
    """
    problem = _problem(credentials, scope, now, canonical)
    if problem is not None:
        raise unusable(problem)


def unusable(reason: str) -> StorageError:
    """The error that recipients see, whatever an upstream did.

    Args:
        reason: For the log; never a secret.
    """
    return StorageError("no credentials for this table can be had now; try again later", detail=reason)


def _problem(
    credentials: TemporaryCredentials, scope: Scope, now: int, canonical: Callable[[str], str]
) -> str | None:
    wanted = _SECRETS.get(credentials.kind)
    if wanted is None:
        return f"the vendor answered credentials of an unknown kind: {credentials.kind}"
    full = scope.binding == _FULL
    missing = [name for name in wanted if not credentials.secret.get(name)]
    if missing and not (full and missing == ["session_token"]):
        return f"the vendor's {credentials.kind} credentials lack {', '.join(missing)}"
    if canonical(credentials.location) != scope.locations[0]:
        return f"the vendor opened {credentials.location} instead of {scope.locations[0]}"
    if credentials.expires_at is None:
        return None if full else "the vendor's credentials do not say when they expire"
    if credentials.expires_at <= now:
        return "the vendor's credentials have expired already"
    if credentials.expires_at > now + scope.lifetime * 1000 + _SKEW_MS:
        lives = (credentials.expires_at - now) // 1000
        return f"the vendor's credentials live {lives} s, longer than the {scope.lifetime} s asked for"
    return None
