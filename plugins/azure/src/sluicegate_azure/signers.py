"""Signers of URLs: a key of the account, or vended signatures, which are appended."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from sluicegate.api import ObjectRequest, PermissionDenied, UrlSigner, quote_keys
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.sas import SasSigner
from sluicegate_azure.signing_key import SigningKey
from sluicegate_azure.vended_sas import VendedSas


class BlobSigner(UrlSigner):
    """Signs URLs of one container for reading single blobs."""

    def __init__(self, config: AzureConfig, key: SigningKey) -> None:
        self._base = _base(config)
        container, https_only = config.container, config.public_service_endpoint.startswith("https://")
        self.sas = SasSigner(container.account, container.name, key, https_only=https_only)
        self.expires_at = key.expires_at

    async def sign(
        self, keys: Sequence[str], at: int, lifetime: int, request: ObjectRequest
    ) -> list[str]:
        """See `UrlSigner.sign`. A signature for reading accepts `GET` and `HEAD`."""
        return self.sas.sign_blobs(self._base, keys, at + lifetime)


class VendedSigner(UrlSigner):
    """Appends a vended signature to each URL, which then grants the same access."""

    def __init__(self, config: AzureConfig, given: VendedSas) -> None:
        if given.grants_more:
            raise PermissionDenied(
                "the credentials vended for this table permit more than reading, so the gateway "
                "does not put them into URLs; ask the gateway's operator",
                detail=f"the SAS for {config.prefix} has permissions other than r, l and e",
            )
        self._base = _base(config)
        self._token = given.token
        self.expires_at = given.expires_at

    async def sign(
        self, keys: Sequence[str], at: int, lifetime: int, request: ObjectRequest
    ) -> list[str]:
        """See `UrlSigner.sign`."""
        return [f"{self._base}{name}?{self._token}" for name in quote_keys(keys)]


def _base(config: AzureConfig) -> str:
    return f"{config.public_service_endpoint}/{quote(config.container.name)}/"
