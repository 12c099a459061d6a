"""Authenticates administrators by their bearer tokens."""

from __future__ import annotations

from collections.abc import Mapping

from sluicegate.access.authentication.authenticate import bearer_token
from sluicegate.access.authentication.oauth.failed_login_throttle import FailedLoginThrottle
from sluicegate.admin.identity import Admin
from sluicegate.admin.tokens import AdminTokens
from sluicegate.api.errors import NotAuthenticated, RateLimited, Unauthenticated


class AdminAuthentication:
    """Turns the headers of a request into an administrator.

    Args:
        tokens: The administrators with tokens.
        throttle: Delays failed attempts.
    """

    def __init__(self, tokens: AdminTokens, *, throttle: FailedLoginThrottle | None = None) -> None:
        self._tokens = tokens
        self._throttle = throttle or FailedLoginThrottle()

    async def authenticate(self, headers: Mapping[str, str]) -> Admin:
        """Return the administrator that sends a request.

        Raises:
            NotAuthenticated: There is no bearer token.
            Unauthenticated: The token is malformed, unknown or expired. The response is delayed.
            RateLimited: Too many failed attempts are being delayed.
            Unavailable: The database does not respond.
        """
        token = bearer_token(headers.get("authorization", ""))
        if not token:
            raise NotAuthenticated(
                "the Authorization header is missing: send 'Authorization: Bearer <token>' with the "
                "token of an administrator"
            )
        try:
            admin = await self._tokens.authenticate(token)
            if admin is None:
                raise Unauthenticated("the bearer token is not one of an administrator")
            return admin
        except Unauthenticated:
            if not await self._throttle.delay():
                raise RateLimited("too many failed attempts; try again later") from None
            raise
