"""Authenticates recipients with bearer tokens of another server, which `sluicegate import` stored."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from sluicegate._util.clock import epoch_ms
from sluicegate.access.authentication.authenticate import BEARER, bearer_token
from sluicegate.access.authentication.recipient_checks import check_credential, check_recipient
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.imported_tokens import is_acceptable
from sluicegate.access.recipients.secrets import digest, is_well_formed
from sluicegate.api import AuthenticationRequest, Authenticator
from sluicegate.api.principals import Principal


class ImportedTokens(Authenticator):
    """Looks up tokens that don't have the gateway's own format; see docs/adr/0058.

    Args:
        grants: Looks up tokens.
        now: Epoch milliseconds.
    """

    challenge = BEARER

    def __init__(self, grants: Grants, *, now: Callable[[], int] = epoch_ms) -> None:
        self._grants = grants
        self._now = now

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        """The recipient whose imported token this is; `None` for any other token.

        Raises:
            Unauthenticated: The token is expired or revoked.
            PermissionDenied: The recipient is not allowed to connect from this address.
            Unavailable: The database does not respond.
        """
        token = bearer_token(request.authorization)
        if token is None or not is_acceptable(token) or is_well_formed(token):
            return None
        if not await self._grants.has_imported_tokens():
            return None  # so that tokens for plugins cost no query each
        presented = digest(token)
        record = await self._grants.token(presented)
        if record is None or not hmac.compare_digest(record.digest, presented):
            return None
        check_credential(record, "bearer token", "bearer", self._now())
        return check_recipient(record.recipient, "bearer", request.address, record.id)
