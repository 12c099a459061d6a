"""Recognises recipients by their bearer tokens.

Source: delta-sharing-protocol.md, "Profile File Format" and the 401 answers.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from sluicegate.access.grants import Grants
from sluicegate.access.tokens import digest, is_well_formed
from sluicegate.clock import epoch_ms
from sluicegate.errors import PermissionDenied, Unauthenticated
from sluicegate.nouns import Principal
from sluicegate.store.reads import Network, TokenRecord

_SEND = "send 'Authorization: Bearer <token>' with the token of your profile"


class BearerAuthentication:
    """Turns an `Authorization` header into a principal.

    Args:
        grants: Where tokens are looked up.
        now: Epoch milliseconds.
    """

    def __init__(self, grants: Grants, *, now: Callable[[], int] = epoch_ms) -> None:
        self._grants = grants
        self._now = now

    async def authenticate(self, authorization: str | None, address: str | None) -> Principal:
        """The recipient whose token the header carries.

        Args:
            authorization: The header's value; the scheme's case does not matter.
            address: IP address of the caller, or `None` where it is not known.

        Raises:
            Unauthenticated: The token is missing, malformed, unknown, expired or revoked.
            PermissionDenied: The recipient may not call from this address.
            Unavailable: The database does not answer.
        """
        presented = digest(_bearer_token(authorization))
        record = await self._grants.token(presented)
        if record is None or not hmac.compare_digest(record.digest, presented):
            raise Unauthenticated("the bearer token is unknown; ask the provider for a new profile")
        self._check_lifetime(record)
        if record.allow_from and not _is_within(address, record.allow_from):
            raise PermissionDenied(
                f"the recipient {record.recipient!r} may not call from this address",
                detail=f"called from {address}",
            )
        return Principal(record.recipient_id, record.recipient, "bearer", address, record.properties)

    def _check_lifetime(self, record: TokenRecord) -> None:
        now = self._now()
        if record.revoked_at is not None and record.revoked_at <= now:
            raise Unauthenticated("the bearer token was revoked; ask the provider for a new profile")
        if record.expires_at <= now:
            raise Unauthenticated("the bearer token has expired; ask the provider for a new profile")


def _bearer_token(authorization: str | None) -> str:
    if not authorization:
        raise Unauthenticated(f"the Authorization header is missing; {_SEND}")
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not is_well_formed(token):
        raise Unauthenticated(f"the Authorization header is malformed; {_SEND}")
    return token


def _is_within(address: str | None, networks: tuple[Network, ...]) -> bool:
    try:
        caller = ip_address(address or "")
    except ValueError:
        return False
    if isinstance(caller, IPv6Address) and caller.ipv4_mapped:
        caller = caller.ipv4_mapped
    return any(caller in network for network in networks)
