"""The gateway's own access to a storage account: reading blobs, and signing URLs."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from sluicegate.api import SecretStr
from sluicegate_azure.sas import SigningKey

if TYPE_CHECKING:
    from obstore.store import AzureCredential


class Access(ABC):
    """Provides credentials. They are requested again for each use; callers cache them."""

    @abstractmethod
    async def credential(self) -> AzureCredential:
        """Return the current credentials for reading blobs, in the form that obstore accepts."""

    @abstractmethod
    async def signing_key(self) -> SigningKey:
        """Return the current signing key."""

    def preload(self) -> None:  # noqa: B027 (a key needs no library)
        """Import the libraries that credentials and signing keys need."""


class AccountKey(Access):
    """The account's key, which permits every operation."""

    def __init__(self, key: SecretStr) -> None:
        self._key = key

    async def credential(self) -> AzureCredential:
        """Return the key itself."""
        return {"access_key": self._key.get_secret_value(), "expires_at": None}

    async def signing_key(self) -> SigningKey:
        """Return the key itself."""
        return SigningKey(base64.b64decode(self._key.get_secret_value()))
