"""Authenticates recipients with the gateway's own bearer tokens (profiles of version 1)."""

from __future__ import annotations

from collections.abc import Callable

from sluicegate._util.clock import epoch_ms
from sluicegate.access.authentication.authenticate import BEARER, bearer_token
from sluicegate.access.authentication.recipient_checks import check_token, find_token
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.imported_tokens import is_acceptable
from sluicegate.access.recipients.secrets import is_well_formed
from sluicegate.api import AuthenticationRequest, Authenticator
from sluicegate.api.errors import Unauthenticated
from sluicegate.api.principals import Principal
from sluicegate.audit.trail import note_claim


class ImportedTokens(Authenticator):
    """Looks up tokens that don't have the gateway's own format; see docs/adr/0058."""

    challenge = BEARER

    def __init__(self, grants: Grants, *, now: Callable[[], int] = epoch_ms) -> None:
        self._grants = grants
        self._now = now

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        """The recipient whose imported token this is; `None` for any other token."""
        token = bearer_token(request.authorization)
        if token is None or not is_acceptable(token) or is_well_formed(token):
            return None
        if not await self._grants.has_imported_tokens():
            return None  # so that tokens for plugins cost no query each
        record = await find_token(self._grants, token)
        return None if record is None else check_token(record, request.address, self._now())


class BearerTokens(Authenticator):
    """Looks up tokens with the gateway's prefix."""

    challenge = BEARER

    def __init__(self, grants: Grants, *, now: Callable[[], int] = epoch_ms) -> None:
        self._grants = grants
        self._now = now

    async def authenticate(self, request: AuthenticationRequest) -> Principal | None:
        """The recipient that the token was issued to; `None` for tokens that are not the gateway's."""
        token = bearer_token(request.authorization)
        if token is None or not is_well_formed(token):
            return None
        record = await find_token(self._grants, token)
        if record is None:
            note_claim("bearer")
            raise Unauthenticated("the bearer token is unknown; ask the provider for a new profile")
        return check_token(record, request.address, self._now())
