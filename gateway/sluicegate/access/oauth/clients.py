"""Tells whether a client that asks for an access token is who it says."""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Callable

from sluicegate.access.admission import admit, check_credential
from sluicegate.access.grants import Grants
from sluicegate.access.oauth.requests import OAuthError, TokenRequest
from sluicegate.access.tokens import digest
from sluicegate.clock import epoch_ms
from sluicegate.errors import PermissionDenied, Unauthenticated
from sluicegate.store.reads import CredentialRecord

log = logging.getLogger(__name__)

_CLIENT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_DIGEST = bytes(32)


class Clients:
    """The OAuth clients of recipients.

    Args:
        grants: Where clients are looked up.
        now: Epoch milliseconds.
    """

    def __init__(self, grants: Grants, *, now: Callable[[], int] = epoch_ms) -> None:
        self._grants = grants
        self._now = now

    async def authenticate(self, request: TokenRequest, address: str | None) -> CredentialRecord:
        """The client that a request comes from.

        Args:
            request: What was asked, with the client's secret.
            address: IP address of the caller, or `None` where it is not known.

        Raises:
            OAuthError: The client is unknown, its secret is wrong, it was revoked or has expired, or
                its recipient is not let in (from this address). The log has the client's id.
            Unavailable: The database does not answer.
        """
        known = _CLIENT_ID.fullmatch(request.client_id) is not None
        client = await self._grants.client(request.client_id) if known else None
        expected = _NO_DIGEST if client is None else client.digest
        same = hmac.compare_digest(expected, digest(request.client_secret))
        if client is None or not same:
            # An id that is not of ours may be anything, also a secret in the wrong field.
            log.warning(
                "OAuth client %s was refused", request.client_id if known else "of no known form"
            )
            raise OAuthError("invalid_client", "client_id or client_secret is wrong", 401)
        self._check(client, address)
        return client

    def _check(self, client: CredentialRecord, address: str | None) -> None:
        try:
            check_credential(client, "OAuth client", self._now())
            admit(client.recipient, "oauth", address)
        except Unauthenticated as error:
            log.info("OAuth client %s: %s", client.id, error.message)
            raise OAuthError("invalid_client", error.message, 401) from None
        except PermissionDenied as error:
            log.info("OAuth client %s: %s", client.id, error.detail)
            raise OAuthError("unauthorized_client", "not allowed from this address") from None
