"""Who calls: by an access token of the service or of an issuer, or by a client certificate.

Source: polaris-delegation-service.md, "Security Model and Trust Architecture" and the OpenAPI's
`securitySchemes`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from sluicegate.access.authentication import bearer_token
from sluicegate.access.web_tokens import WebToken
from sluicegate.config.delegation import DelegationSettings
from sluicegate.errors import NotAuthenticated, PermissionDenied, Unauthenticated

if TYPE_CHECKING:
    from sluicegate.access.oidc.claims import IssuerClaims
    from sluicegate.access.oidc.source import KeySource
    from sluicegate.delegation.tokens import ServiceTokens

SCOPE = "execute_tasks"


@dataclass(frozen=True, slots=True)
class Caller:
    """A catalog that has proved itself, and the realms that it may act for."""

    name: str
    realms: frozenset[str]

    def check_realm(self, realm: str) -> None:
        """Make sure that the caller may act for a realm.

        Raises:
            PermissionDenied: It may not.
        """
        if realm not in self.realms:
            raise PermissionDenied(f"client '{self.name}' may not act for realm '{realm}'")


class Callers:
    """Recognises the configured clients.

    Args:
        settings: Clients and issuers.
        tokens: Verifies the service's own access tokens; loaded with the first of them.
        clock: Seconds since the epoch.
    """

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
        self._issuers: Sequence[tuple[str, KeySource, IssuerClaims]] | None = None
        clients = settings.clients.items()
        self._by_subject = {each: name for name, one in clients for each in one.subjects}
        self._by_certificate = {each: name for name, one in clients for each in one.certificates}

    async def authenticate(self, request: Request) -> Caller:
        """Who sends a request; a token counts before a certificate.

        Raises:
            NotAuthenticated: Nothing proves anything.
            Unauthenticated: The token is not valid.
            PermissionDenied: The token lacks the scope, or no client is known by what was proved.
            Unavailable: The issuer's keys cannot be had.
        """
        authorization = request.headers.get("authorization")
        if authorization is not None:
            return self._known(await self._by_token(authorization))
        name = request.scope.get("extensions", {}).get("tls", {}).get("client_cert_name")
        if name is None:
            raise NotAuthenticated("an access token with the scope execute_tasks is needed")
        return self._known(self._by_certificate.get(name))

    async def aclose(self) -> None:
        """Close the connections to issuers."""
        for _, keys, _ in self._issuers or ():
            await keys.aclose()

    async def _by_token(self, authorization: str) -> str | None:
        text = bearer_token(authorization)
        token = None if text is None else WebToken.read(text)
        if token is None:
            raise Unauthenticated("the access token is not valid: it is no signed JWT")
        own = self._tokens().verify(token)
        if own is not None:
            return own
        for claim, _, issuer in self._open_issuers():
            verified = await issuer.verify(token)
            if verified is not None:
                claims, expires_at = verified
                self._check(claims, expires_at)
                return self._by_subject.get(str(claims[claim]))
        raise Unauthenticated("the access token is not valid: it is of no known issuer")

    def _check(self, claims: Mapping[str, Any], expires_at: float) -> None:
        if expires_at <= self._clock():
            raise Unauthenticated("the access token has expired; get a new one")
        if SCOPE not in _scopes(claims):
            raise PermissionDenied(f"the access token lacks the scope {SCOPE}")

    def _known(self, name: str | None) -> Caller:
        client = None if name is None else self._settings.clients.get(name)
        if name is None or client is None:
            raise PermissionDenied("no client is known by this token or certificate")
        return Caller(name, self._settings.realms_of(client))

    def _open_issuers(self) -> Sequence[tuple[str, KeySource, IssuerClaims]]:
        if self._issuers is None:
            from sluicegate.access.oidc.claims import IssuerClaims  # loads aiohttp and PyJWT
            from sluicegate.access.oidc.source import KeySource

            sources = [(each, KeySource.of(each, lambda: None)) for each in self._settings.issuers]
            self._issuers = [
                (each.claim, keys, IssuerClaims(each, keys, clock=self._clock))
                for each, keys in sources
            ]
        return self._issuers


def _scopes(claims: Mapping[str, Any]) -> Sequence[str]:
    """Scopes of a token, as RFC 9068 spells them or as others do (`scp`)."""
    found = claims.get("scope", claims.get("scp", ""))
    if isinstance(found, str):
        return found.split()
    return [str(each) for each in found] if isinstance(found, list) else []
