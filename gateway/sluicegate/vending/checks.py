"""Whether credentials that a vendor answered may be handed on: an upstream can be wrong."""

from __future__ import annotations

from collections.abc import Callable, Set

from sluicegate.api import Scope, StorageError, TemporaryCredentials, UnsupportedOperation

_SESSION = ("access_key_id", "secret_access_key", "session_token")
_SECRETS = {"aws": _SESSION, "r2": _SESSION, "azure": ("sas_token",), "gcp": ("oauth_token",)}
# The binding that passes long-lived keys on (s3a-delegation-tokens.md): no session, no end.
_FULL = "full"
# Clouds reckon by clocks of their own.
_SKEW_MS = 60_000
_OVER = "the vendor's credentials have expired already"


def check_handed_on(
    credentials: TemporaryCredentials,
    scope: Scope,
    now: int,
    canonical: Callable[[str], str],
    *,
    may_outlive: bool,
) -> None:
    """Make sure that a recipient may get credentials: complete, temporary, and exactly what was asked.

    Args:
        credentials: What the vendor answered.
        scope: What it was asked for.
        now: Epoch milliseconds, after it answered.
        canonical: The one spelling of a location.
        may_outlive: They may live longer than asked: catalogs give lives of their own.

    Raises:
        StorageError: They are not; the reason is private.
        UnsupportedOperation: They never end, so asking again will not help.
    """
    if credentials.expires_at is None and scope.binding != _FULL:
        raise UnsupportedOperation(
            "the credentials of this table never expire, so none are handed on: read it by presigned "
            "URLs (url), or ask its provider",
            detail="the vendor's credentials do not say when they expire",
        )
    problem = (
        _lack(credentials, optional={"session_token"} if scope.binding == _FULL else frozenset())
        or _place(credentials, scope, canonical, wider=False)
        or _end(credentials, scope, now, may_outlive=may_outlive)
    )
    if problem is not None:
        raise unusable(problem)


def check_usable(
    credentials: TemporaryCredentials, scope: Scope, now: int, canonical: Callable[[str], str]
) -> None:
    """Make sure that the gateway itself can read and sign with credentials that it keeps to itself.

    They may be long-lived keys, and open more than was asked for: what a catalog gives is not always
    narrow.

    Raises:
        StorageError: They are incomplete, over, or for another place; the reason is private.
    """
    problem = _lack(credentials, optional={"session_token"}) or _place(
        credentials, scope, canonical, wider=True
    )
    if problem is None and credentials.expires_at is not None and credentials.expires_at <= now:
        problem = _OVER
    if problem is not None:
        raise unusable(problem)


def unusable(reason: str) -> StorageError:
    """The error that recipients see, whatever an upstream did.

    Args:
        reason: For the log; never a secret.
    """
    return StorageError("no credentials for this table can be had now; try again later", detail=reason)


def _lack(credentials: TemporaryCredentials, optional: Set[str]) -> str | None:
    wanted = _SECRETS.get(credentials.kind)
    if wanted is None:
        return f"the vendor answered credentials of an unknown kind: {credentials.kind}"
    missing = [name for name in wanted if name not in optional and not credentials.secret.get(name)]
    return f"the vendor's {credentials.kind} credentials lack {', '.join(missing)}" if missing else None


def _place(
    credentials: TemporaryCredentials, scope: Scope, canonical: Callable[[str], str], *, wider: bool
) -> str | None:
    opened, wanted = canonical(credentials.location), scope.locations[0]
    if opened == wanted or (wider and wanted.startswith(f"{opened.rstrip('/')}/")):
        return None
    return f"the vendor opened {credentials.location} instead of {wanted}"


def _end(credentials: TemporaryCredentials, scope: Scope, now: int, *, may_outlive: bool) -> str | None:
    if credentials.expires_at is None:
        return None
    if credentials.expires_at <= now:
        return _OVER
    if not may_outlive and credentials.expires_at > now + scope.lifetime * 1000 + _SKEW_MS:
        lives = (credentials.expires_at - now) // 1000
        return f"the vendor's credentials live {lives} s, longer than the {scope.lifetime} s asked for"
    return None
