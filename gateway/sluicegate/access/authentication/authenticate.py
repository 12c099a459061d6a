"""Authenticates recipients with the first authenticator that recognizes the request.

Source: Delta Sharing protocol, "Profile File Format" and the 401 responses; RFC 6750.
"""

from __future__ import annotations

from collections.abc import Collection, MutableMapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.datastructures import Headers

from sluicegate.api import AuthenticationRequest, Authenticator
from sluicegate.api.errors import NotAuthenticated, Unauthenticated
from sluicegate.api.principals import Principal
from sluicegate.http.client_certificates import ClientCertificates

BEARER = "Bearer"
"""The challenge of bearer tokens (RFC 6750, section 3)."""


class Authentication:
    """Turns a request into a principal.

    Args:
        authenticators: Called in this order; the first that does not return `None` decides.
    """

    def __init__(
        self,
        authenticators: Sequence[Authenticator],
        certificates: ClientCertificates | None = None,
    ) -> None:
        self._authenticators = tuple(authenticators)
        self._certificates = certificates or ClientCertificates()
        challenges = dict.fromkeys((BEARER, *(each.challenge for each in self._authenticators)))
        self._challenges = ", ".join(each for each in challenges if each is not None)
        self._send = f"send {_accepted(challenges)}"
        self._only_bearer = len(challenges) == 1

    async def authenticate_scope(self, scope: MutableMapping[str, Any]) -> Principal:
        """The recipient that sends a request; see `authenticate`."""
        client = scope.get("client")
        raw_path: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
        return await self.authenticate(
            AuthenticationRequest(
                method=scope["method"],
                path=raw_path.decode("latin-1"),
                query=scope["query_string"].decode("latin-1"),
                headers=Headers(scope=scope),
                address=client[0] if client else None,
                read_certificate=partial(self._certificates.of, scope),
            )
        )

    async def authenticate(self, request: AuthenticationRequest) -> Principal:
        """Return the recipient that sends a request."""
        for authenticator in self._authenticators:
            principal = await authenticator.authenticate(request)
            if principal is not None:
                return principal
        raise self._refusal(request.authorization)

    def _refusal(self, authorization: str) -> Unauthenticated:
        """The error for a request that no authenticator recognizes."""
        if bearer_token(authorization):
            return Unauthenticated(f"the bearer token is malformed; {self._send}")
        if authorization:
            problem = f"the Authorization header is malformed; {self._send}"
        elif self._only_bearer:
            problem = f"the Authorization header is missing; {self._send}"
        else:
            problem = f"the request has no credentials; {self._send}"
        return NotAuthenticated(problem, challenge=self._challenges)


def _accepted(challenges: Collection[str | None]) -> str:
    """The credentials that a client can send, those without a challenge (certificates) last."""
    accepted = ["'Authorization: Bearer <token>' with the token of your profile"]
    accepted += [f"credentials for {each}" for each in challenges if each not in (BEARER, None)]
    if None in challenges:
        accepted.append("other credentials that you have agreed with the provider")
    return ", or ".join(accepted)


def bearer_token(authorization: str) -> str | None:
    """The token after the scheme `Bearer`; `None` for other schemes (RFC 6750, section 2.1)."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None
