"""Finds and fetches the keys of an issuer (OpenID Connect Discovery 1.0, section 4)."""

from __future__ import annotations

from sluicegate.access.authentication.oidc.fetch import FetchFailed, JsonFetcher
from sluicegate.access.authentication.oidc.keys import KeySet
from sluicegate.config.sections.authentication import IssuerSettings, check_key_address

WELL_KNOWN = "/.well-known/openid-configuration"


class KeyFetcher:
    """Fetches the keys of one issuer."""

    def __init__(self, settings: IssuerSettings) -> None:
        self._settings = settings
        self._fetcher = JsonFetcher()

    async def fetch(self) -> KeySet:
        """Fetch the current keys of the issuer."""
        address = self._settings.jwks_uri or await self._discover()
        try:
            return KeySet(await self._fetcher.get(address))
        except ValueError as error:
            raise FetchFailed(f"{address}: {error}") from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._fetcher.aclose()

    async def _discover(self) -> str:
        """Return the URL of the keys from the discovery document, which must name the same issuer."""
        issuer = self._settings.issuer
        address = issuer.rstrip("/") + WELL_KNOWN
        document = await self._fetcher.get(address)
        if document.get("issuer") != issuer:
            raise FetchFailed(f"{address} is for another issuer than {issuer}")
        found = str(document.get("jwks_uri"))
        try:
            check_key_address(found)
        except ValueError as error:
            raise FetchFailed(f"{address} names an unusable jwks_uri: {error}") from None
        if issuer.startswith("https:") and not found.startswith("https:"):
            raise FetchFailed(f"{address} names a jwks_uri that is not https://")
        return found
