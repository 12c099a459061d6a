"""Authenticates callers with an access token (own or of an issuer) or a client certificate.

Source: Polaris delegation proposal, "Security Model and Trust Architecture" and the OpenAPI's
`securitySchemes`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from sluicegate.access.authentication.authenticate import bearer_token
from sluicegate.access.authentication.jwt import WebToken
from sluicegate.api.errors import NotAuthenticated, PermissionDenied, Unauthenticated
from sluicegate.audit.trail import note_client
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.delegation.rest.responses import SCOPE
from sluicegate.http.client_certificates import ClientCertificates
from sluicegate.http.concurrency_limit import slots_of

if TYPE_CHECKING:
    from sluicegate.access.authentication.oidc.claims import IssuerClaims
    from sluicegate.access.authentication.oidc.keys import KeySource
    from sluicegate.delegation.rest.access_tokens import ServiceTokens


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated catalog, and the realms that it can act for."""

    name: str
    realms: frozenset[str]

    def check_realm(self, realm: str) -> None:
        """Ensure that the caller can act for a realm."""
        if realm not in self.realms:
            raise PermissionDenied(f"client '{self.name}' may not act for realm '{realm}'").decided_by(
                "realm"
            )


class Callers:
    """Authenticates the configured clients."""

    def __init__(
        self,
        settings: DelegationSettings,
        tokens: Callable[[], ServiceTokens],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._tokens = tokens
        self._clock = clock
        self._certificates = ClientCertificates()
        self._issuers: Sequence[tuple[str, KeySource, IssuerClaims]] | None = None
        clients = settings.clients.items()
        self._by_subject = {each: name for name, one in clients for each in one.subjects}
        self._by_certificate = {each: name for name, one in clients for each in one.certificates}

    async def authenticate(self, request: Request) -> Caller:
        """Return the sender of a request, which counts against this client's limit from then on.

        A token takes precedence over a certificate.
        """
        caller = await self._recognized(request)
        note_client(caller.name)
        slots = slots_of(request.scope)
        if slots is not None and not slots.enter_now(caller.name):
            await slots.enter(caller.name)
        return caller

    async def aclose(self) -> None:
        """Close connections to issuers."""
        for _, keys, _ in self._issuers or ():
            await keys.aclose()

    async def _recognized(self, request: Request) -> Caller:
        authorization = request.headers.get("authorization")
        if authorization is not None:
            return self._known(await self._by_token(authorization))
        certificate = await self._certificates.of(request.scope)
        if certificate is None:
            raise NotAuthenticated("an access token with the scope execute_tasks is needed")
        return self._known(self._by_certificate.get(certificate.subject))

    async def _by_token(self, authorization: str) -> str | None:
        text = bearer_token(authorization)
        token = None if text is None else WebToken.read(text)
        if token is None:
            raise Unauthenticated("the access token is not valid: it is not a signed JWT")
        own = self._tokens().verify(token)
        if own is not None:
            return own
        for claim, _, issuer in self._open_issuers():
            verified = await issuer.verify(token)
            if verified is not None:
                claims, expires_at = verified
                self._check(claims, expires_at)
                return self._by_subject.get(str(claims[claim]))
        raise Unauthenticated("the access token is not valid: its issuer is not known")

    def _check(self, claims: Mapping[str, Any], expires_at: float) -> None:
        if expires_at <= self._clock():
            raise Unauthenticated("the access token has expired; get a new one")
        if SCOPE not in _scopes(claims):
            raise PermissionDenied(f"the access token lacks the scope {SCOPE}")

    def _known(self, name: str | None) -> Caller:
        client = None if name is None else self._settings.clients.get(name)
        if name is None or client is None:
            raise PermissionDenied("no client is configured for this token or certificate")
        return Caller(name, self._settings.realms_of(client))

    def _open_issuers(self) -> Sequence[tuple[str, KeySource, IssuerClaims]]:
        if self._issuers is None:
            from sluicegate.access.authentication.oidc.claims import (
                IssuerClaims,  # imports aiohttp and PyJWT
            )
            from sluicegate.access.authentication.oidc.keys import KeySource

            sources = [(each, KeySource.of(each, lambda: None)) for each in self._settings.issuers]
            self._issuers = [
                (each.claim, keys, IssuerClaims(each, keys, clock=self._clock))
                for each, keys in sources
            ]
        return self._issuers


def _scopes(claims: Mapping[str, Any]) -> Sequence[str]:
    """Return scopes of a token, in the form of RFC 9068 or in the common alternative (`scp`)."""
    found = claims.get("scope", claims.get("scp", ""))
    if isinstance(found, str):
        return found.split()
    return [str(each) for each in found] if isinstance(found, list) else []
