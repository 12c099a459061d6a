"""Recognises recipients: one way after the other is asked, until one says "mine".

Source: delta-sharing-protocol.md, "Profile File Format" and the 401 answers; RFC 6750.
"""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import Authenticator
from sluicegate.errors import NotAuthenticated, Unauthenticated
from sluicegate.nouns import Principal

_SEND = "send 'Authorization: Bearer <token>' with the token of your profile"


class Authentication:
    """Turns an `Authorization` header into a principal.

    Args:
        authenticators: Asked in this order; the first that does not answer `None` decides.
    """

    def __init__(self, authenticators: Sequence[Authenticator]) -> None:
        self._authenticators = tuple(authenticators)

    async def authenticate(self, authorization: str | None, address: str | None) -> Principal:
        """The recipient that the header proves.

        Args:
            authorization: The header's value; the scheme's case does not matter.
            address: IP address of the caller, or `None` where it is not known.

        Raises:
            NotAuthenticated: There is no header, or not one of a known scheme.
            Unauthenticated: The token is malformed, unknown, expired or revoked.
            PermissionDenied: The recipient may not call from this address.
            Unavailable: The database, or what else is needed to check the token, does not answer.
        """
        if not authorization:
            raise NotAuthenticated(f"the Authorization header is missing; {_SEND}")
        for authenticator in self._authenticators:
            principal = await authenticator.authenticate(authorization, address)
            if principal is not None:
                return principal
        if bearer_token(authorization):
            raise Unauthenticated(f"the bearer token is malformed; {_SEND}")
        raise NotAuthenticated(f"the Authorization header is malformed; {_SEND}")


def bearer_token(authorization: str) -> str | None:
    """What follows the scheme `Bearer`; `None` under another scheme (RFC 6750, section 2.1)."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None
