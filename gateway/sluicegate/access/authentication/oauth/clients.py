"""Authenticates OAuth clients that request an access token."""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Callable

from sluicegate._util.clock import epoch_ms
from sluicegate.access.authentication.oauth.requests import OAuthError, TokenRequest
from sluicegate.access.authentication.recipient_checks import check_credential, check_recipient
from sluicegate.access.grants import Grants
from sluicegate.access.recipients.secrets import digest
from sluicegate.api.errors import PermissionDenied, Unauthenticated
from sluicegate.audit.trail import note_claim
from sluicegate.database.reads import CredentialRecord

log = logging.getLogger(__name__)

_CLIENT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_DIGEST = bytes(32)


class Clients:
    """The OAuth clients of recipients."""

    def __init__(self, grants: Grants, *, now: Callable[[], int] = epoch_ms) -> None:
        self._grants = grants
        self._now = now

    async def authenticate(self, request: TokenRequest, address: str | None) -> CredentialRecord:
        """Return the client that sends a request."""
        known = _CLIENT_ID.fullmatch(request.client_id) is not None
        client = await self._grants.client(request.client_id) if known else None
        expected = _NO_DIGEST if client is None else client.digest
        same = hmac.compare_digest(expected, digest(request.client_secret))
        if client is None or not same:
            # An id in another format is not logged, because it may be a secret in the wrong field.
            log.warning(
                "OAuth client %s was refused",
                request.client_id if known else "with an id of unknown format",
            )
            note_claim("oauth", request.client_id if known else None)
            raise OAuthError("invalid_client", "client_id or client_secret is wrong", 401)
        self._check(client, address)
        return client

    def _check(self, client: CredentialRecord, address: str | None) -> None:
        try:
            check_credential(client, "OAuth client", "oauth", self._now())
            check_recipient(client.recipient, "oauth", address, client.id)
        except Unauthenticated as error:
            log.info("OAuth client %s: %s", client.id, error.message)
            raise OAuthError("invalid_client", error.message, 401) from None
        except PermissionDenied as error:
            log.info("OAuth client %s: %s", client.id, error.detail)
            refusal = "not allowed from this address"
            raise OAuthError("unauthorized_client", refusal, rule="network") from None
