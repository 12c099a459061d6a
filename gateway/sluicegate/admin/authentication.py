"""Authenticates administrators by their bearer tokens, or by tokens of OIDC issuers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_network
from typing import TYPE_CHECKING

from sluicegate._util.lazy import Lazy
from sluicegate._util.networks import is_within
from sluicegate.access.authentication.authenticate import bearer_token
from sluicegate.access.authentication.jwt import WebToken
from sluicegate.access.authentication.oauth.failed_login_throttle import FailedLoginThrottle
from sluicegate.admin.identity import Admin
from sluicegate.admin.tokens import AdminTokens
from sluicegate.api.errors import (
    NotAuthenticated,
    PermissionDenied,
    RateLimited,
    Unauthenticated,
)
from sluicegate.config.sections.admin import AdminSettings, ConsoleOidcSettings

if TYPE_CHECKING:
    from sluicegate.admin.oidc.issuers import AdminIssuer


class AdminAuthentication:
    """Turns the headers of a request into an administrator."""

    def __init__(
        self,
        section: AdminSettings,
        tokens: AdminTokens,
        *,
        throttle: FailedLoginThrottle | None = None,
    ) -> None:
        self._section = section
        self._tokens = tokens
        self._throttle = throttle or FailedLoginThrottle()
        self._networks = [ip_network(network) for network in section.allow_from]

        def issuers() -> Sequence[AdminIssuer]:
            from sluicegate.admin.oidc.issuers import AdminIssuer

            return [AdminIssuer(each) for each in section.oidc]

        self._issuers = Lazy(issuers) if section.oidc else None
        self._login_issuers: list[AdminIssuer] = []

    async def authenticate(self, headers: Mapping[str, str], address: str | None) -> Admin:
        """Return the administrator that sends a request."""
        self.check_address(address)
        token = bearer_token(headers.get("authorization", ""))
        if not token:
            raise NotAuthenticated(
                "the Authorization header is missing: send 'Authorization: Bearer <token>' with the "
                "token of an administrator"
            )
        try:
            admin = await self._tokens.authenticate(token) or await self._of_issuer(token)
            if admin is None:
                raise Unauthenticated("the bearer token is not one of an administrator")
            return admin
        except Unauthenticated:
            if not await self._throttle.delay():
                raise RateLimited("too many failed attempts; try again later") from None
            raise

    def check_address(self, address: str | None) -> None:
        """Check that administrators can connect from an address."""
        if self._networks and not is_within(address, self._networks):
            raise PermissionDenied(
                "administrators cannot connect from this address", detail=f"called from {address}"
            ).decided_by("network")

    def login_issuer(self, client: ConsoleOidcSettings) -> AdminIssuer:
        """The issuer of a client, which accepts only ID tokens for this client.

        Call it once. The connections are closed with these of other issuers.
        """
        from sluicegate.admin.oidc.issuers import AdminIssuer

        section = next(each for each in self._section.oidc if each.issuer == client.issuer)
        made = AdminIssuer(section.model_copy(update={"audience": (client.client_id,)}))
        self._login_issuers.append(made)
        return made

    async def aclose(self) -> None:
        """Close the connections to issuers."""
        made = self._issuers.made if self._issuers is not None else None
        for issuer in (*(made or ()), *self._login_issuers):
            await issuer.aclose()

    async def _of_issuer(self, text: str) -> Admin | None:
        token = WebToken.read(text) if self._issuers is not None else None
        if token is None or self._issuers is None:
            return None
        for issuer in await self._issuers.get():
            admin = await issuer.authenticate(token)
            if admin is not None:
                return admin
        return None
