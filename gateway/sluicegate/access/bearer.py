"""Recognises recipients by the gateway's own bearer tokens (profiles of version 1)."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from sluicegate.access.admission import admit, check_credential
from sluicegate.access.authentication import bearer_token
from sluicegate.access.grants import Grants
from sluicegate.access.tokens import digest, is_well_formed
from sluicegate.api import Authenticator
from sluicegate.clock import epoch_ms
from sluicegate.errors import Unauthenticated
from sluicegate.nouns import Principal


class BearerTokens(Authenticator):
    """Looks tokens with the gateway's prefix up.

    Args:
        grants: Where tokens are looked up.
        now: Epoch milliseconds.
    """

    def __init__(self, grants: Grants, *, now: Callable[[], int] = epoch_ms) -> None:
        self._grants = grants
        self._now = now

    async def authenticate(self, authorization: str, address: str | None) -> Principal | None:
        """The recipient that was given the token; `None` for what is no token of the gateway's.

        Raises:
            Unauthenticated: The token is unknown, expired or revoked.
            PermissionDenied: The recipient may not call from this address.
            Unavailable: The database does not answer.
        """
        token = bearer_token(authorization)
        if token is None or not is_well_formed(token):
            return None
        presented = digest(token)
        record = await self._grants.token(presented)
        if record is None or not hmac.compare_digest(record.digest, presented):
            raise Unauthenticated("the bearer token is unknown; ask the provider for a new profile")
        check_credential(record, "bearer token", self._now())
        return admit(record.recipient, "bearer", address)
