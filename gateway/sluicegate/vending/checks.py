"""Checks the credentials that a vendor returns, because an upstream service can be wrong."""

from __future__ import annotations

from collections.abc import Callable, Set

from sluicegate.api import Scope, StorageError, TemporaryCredentials, UnsupportedOperation

_SESSION = ("access_key_id", "secret_access_key", "session_token")
_SECRETS = {"aws": _SESSION, "r2": _SESSION, "azure": ("sas_token",), "gcp": ("oauth_token",)}
# The binding that issues long-lived keys without a session or expiry (S3A token architecture).
_FULL = "full"
# The clocks of clouds can differ from the gateway's.
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
    """Check that credentials for a recipient are complete, temporary, and match the requested scope.

    Args:
        may_outlive: Whether they can be valid for longer than requested, because catalogs choose their
            own lifetimes.
    """
    if credentials.expires_at is None and scope.binding != _FULL:
        why = "no expiry is stated for the credentials of this table"
        if is_long_lived(credentials):
            why = "the credentials of this table never expire"
        raise UnsupportedOperation(
            f"{why}, so none are issued: read it by presigned URLs (url), or in the Iceberg catalog of "
            "the share with the header 'X-Iceberg-Access-Delegation: remote-signing'; its provider can "
            "set 'credentials: storage' for the table's catalog",
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
    """Check that the gateway itself can read and sign with credentials that recipients never see.

    They can be long-lived keys, and cover more than the requested scope, because not all catalogs limit
    their credentials.
    """
    problem = _lack(credentials, optional={"session_token"}) or _place(
        credentials, scope, canonical, wider=True
    )
    if problem is None and credentials.expires_at is not None and credentials.expires_at <= now:
        problem = _OVER
    if problem is not None:
        raise unusable(problem)


def is_long_lived(credentials: TemporaryCredentials) -> bool:
    """Whether these are keys instead of a session, which always ends, even if it doesn't say when."""
    return credentials.kind in ("aws", "r2") and not credentials.secret.get("session_token")


def unusable(reason: str) -> StorageError:
    """The error that recipients see if an upstream service fails in any way.

    Args:
        reason: For the log; never a secret.
    """
    return StorageError(
        "credentials for this table are not available now; try again later", detail=reason
    )


def _lack(credentials: TemporaryCredentials, optional: Set[str]) -> str | None:
    wanted = _SECRETS.get(credentials.kind)
    if wanted is None:
        return f"the vendor returned credentials of an unknown kind: {credentials.kind}"
    missing = [name for name in wanted if name not in optional and not credentials.secret.get(name)]
    return f"the vendor's {credentials.kind} credentials lack {', '.join(missing)}" if missing else None


def _place(
    credentials: TemporaryCredentials, scope: Scope, canonical: Callable[[str], str], *, wider: bool
) -> str | None:
    opened, wanted = canonical(credentials.location), scope.locations[0]
    if opened == wanted or (wider and wanted.startswith(f"{opened.rstrip('/')}/")):
        return None
    return f"the vendor's credentials are for {credentials.location} instead of {wanted}"


def _end(credentials: TemporaryCredentials, scope: Scope, now: int, *, may_outlive: bool) -> str | None:
    if credentials.expires_at is None:
        return None
    if credentials.expires_at <= now:
        return _OVER
    if not may_outlive and credentials.expires_at > now + scope.lifetime * 1000 + _SKEW_MS:
        lives = (credentials.expires_at - now) // 1000
        return f"the vendor's credentials live {lives} s, longer than the requested {scope.lifetime} s"
    return None
