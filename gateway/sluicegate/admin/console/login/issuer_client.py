"""Requests to an issuer during a login. Imports aiohttp."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from urllib.parse import quote_plus

from sluicegate.access.authentication.oidc.fetch import FetchFailed, JsonFetcher
from sluicegate.access.authentication.oidc.keys import WELL_KNOWN
from sluicegate.api.errors import Unauthenticated, Unavailable
from sluicegate.config.sections.admin import ConsoleOidcSettings
from sluicegate.config.sections.authentication import check_key_address

_BASIC = "client_secret_basic"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Addresses of an issuer (OpenID Connect Discovery 1.0, section 3).

    Attributes:
        secret_in_form: Whether the issuer accepts the secret of a client only in forms.
    """

    authorization: str
    token: str
    secret_in_form: bool


class IssuerClient:
    """Requests to one issuer. Logins are rare, so no connection is kept."""

    def __init__(self, settings: ConsoleOidcSettings) -> None:
        self._settings = settings

    async def endpoints(self) -> Endpoints:
        """The endpoints from the discovery document."""
        fetcher = JsonFetcher()
        try:
            document = await fetcher.get(self._settings.issuer.rstrip("/") + WELL_KNOWN)
            if document.get("issuer") != self._settings.issuer:
                raise FetchFailed("the discovery document is for another issuer")
            return Endpoints(
                _checked(document.get("authorization_endpoint")),
                _checked(document.get("token_endpoint")),
                _BASIC not in (document.get("token_endpoint_auth_methods_supported") or [_BASIC]),
            )
        except FetchFailed as error:
            raise _unavailable(error) from error
        finally:
            await fetcher.aclose()

    async def redeem(self, code: str, verifier: str, redirect_uri: str) -> str:
        """The ID token for an authorization code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self._settings.client_id,
            "code_verifier": verifier,
        }
        endpoints = await self.endpoints()
        headers: dict[str, str] = {}
        if self._settings.client_secret is not None:
            secret = self._settings.client_secret.get_secret_value()
            if endpoints.secret_in_form:
                form["client_secret"] = secret
            else:
                headers["Authorization"] = _basic(self._settings.client_id, secret)
        fetcher = JsonFetcher()
        try:
            document = await fetcher.post(endpoints.token, form, headers)
        except FetchFailed as error:
            if error.status in (400, 401, 403):
                raise Unauthenticated(
                    "the issuer does not accept the login: start it again", detail=str(error)
                ) from error
            raise _unavailable(error) from error
        finally:
            await fetcher.aclose()
        return str(document.get("id_token"))


def _basic(client: str, secret: str) -> str:
    """HTTP Basic authentication of a client (RFC 6749, section 2.3.1)."""
    pair = f"{quote_plus(client)}:{quote_plus(secret)}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _checked(address: object) -> str:
    try:
        return check_key_address(str(address))
    except ValueError as error:
        raise FetchFailed(f"the discovery document has an unusable endpoint: {error}") from None


def _unavailable(error: FetchFailed) -> Unavailable:
    return Unavailable("the issuer does not respond; log in with a token", detail=str(error))
