"""The login at an OIDC issuer: authorization code flow with PKCE, `state` and `nonce`.

Source: OpenID Connect Core 1.0, section 3.1; RFC 7636; RFC 9207.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from sluicegate.access.authentication.jwt import WebToken
from sluicegate.admin.authentication import AdminAuthentication
from sluicegate.admin.identity import Admin
from sluicegate.admin.oidc.identity import AdminIdentity
from sluicegate.api.errors import InvalidRequest, Unauthenticated
from sluicegate.config.sections.admin import AdminIssuerSettings, ConsoleOidcSettings
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner

if TYPE_CHECKING:
    from sluicegate.admin.console.login.issuer_client import IssuerClient
    from sluicegate.admin.oidc.issuers import AdminIssuer

_LIFETIME = 600
_AGAIN = "start the login again"


@dataclass(frozen=True, slots=True)
class FinishedLogin:
    """An administrator that an issuer has authenticated, and the page that it wanted."""

    identity: AdminIdentity
    admin: Admin
    wanted: str


class OidcLogin:
    """Logs administrators in.

    The state of a login is in a signed cookie of the browser that has started it, so that any process
    can finish it.
    """

    lifetime = _LIFETIME

    def __init__(
        self,
        client: ConsoleOidcSettings,
        section: AdminIssuerSettings,
        authentication: AdminAuthentication,
        keys: KeyRing,
        redirect_uri: str,
    ) -> None:
        self._settings = client
        self._section = section
        self._authentication = authentication
        self._signer = TokenSigner(keys, _LIFETIME)
        self._redirect_uri = redirect_uri
        self._issuer: AdminIssuer | None = None
        self._client: IssuerClient | None = None

    async def start(self, wanted: str) -> tuple[str, str]:
        """The address of the issuer's login page, and the value of the cookie."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        endpoint = (await self._issuer_client.endpoints()).authorization
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": " ".join(dict.fromkeys(("openid", *self._settings.scopes))),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        address = f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}"
        kept = {"state": state, "nonce": nonce, "verifier": verifier, "wanted": wanted}
        return address, self._signer.sign(kept, bound_to=self._redirect_uri)

    async def finish(self, query: Mapping[str, str], cookie: str) -> FinishedLogin:
        """The administrator whom the issuer has authenticated."""
        try:
            kept = self._signer.verify(cookie, bound_to=self._redirect_uri, parameter="state")
        except InvalidRequest:
            raise InvalidRequest(
                f"the login was not started in this browser, or took too long: {_AGAIN}"
            ) from None
        if not hmac.compare_digest(query.get("state", "").encode(), kept["state"].encode()):
            raise InvalidRequest(f"the issuer's response is for another login: {_AGAIN}")
        if query.get("iss", self._settings.issuer) != self._settings.issuer:
            raise InvalidRequest(f"the response is from another issuer: {_AGAIN}")
        if "error" in query or not query.get("code"):
            raise Unauthenticated(f"the issuer has not logged you in: {_AGAIN}")
        text = await self._issuer_client.redeem(query["code"], kept["verifier"], self._redirect_uri)
        return await self._verified(text, kept["nonce"], kept["wanted"])

    async def _verified(self, text: str, nonce: str, wanted: str) -> FinishedLogin:
        token = WebToken.read(text)
        if self._issuer is None:
            self._issuer = self._authentication.login_issuer(self._settings)
        verified = None if token is None else await self._issuer.identify(token)
        if token is None or verified is None:
            raise Unauthenticated(f"the issuer's ID token is not valid: {_AGAIN}")
        identity, expires_at = verified
        # The signature of the token was verified, so its claims are those of the issuer.
        if not hmac.compare_digest(str(token.claims.get("nonce")).encode(), nonce.encode()):
            raise Unauthenticated(f"the issuer's ID token is for another login: {_AGAIN}")
        if token.claims.get("azp", self._settings.client_id) != self._settings.client_id:
            raise Unauthenticated(f"the issuer's ID token is for another client: {_AGAIN}")
        admin = identity.admin(self._section, int(expires_at * 1000))
        return FinishedLogin(identity, admin, wanted)

    @property
    def _issuer_client(self) -> IssuerClient:
        if self._client is None:
            from sluicegate.admin.console.login.issuer_client import IssuerClient  # imports aiohttp

            self._client = IssuerClient(self._settings)
        return self._client
