"""What the gateway itself may do with an account: read blobs, and sign for others."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from sluicegate.api import SecretStr
from sluicegate_azure.signing_key import SigningKey

if TYPE_CHECKING:
    from obstore.store import AzureCredential


class Access(ABC):
    """Asked anew each time something is needed; those who ask keep the answers."""

    @abstractmethod
    async def credential(self) -> AzureCredential:
        """What reads blobs now, as obstore takes it.

        Raises:
            StorageError: There is nothing, or who gives it does not answer.
        """

    @abstractmethod
    async def signing_key(self) -> SigningKey:
        """What signs now.

        Raises:
            StorageError: There is nothing, or who gives it does not answer.
        """


class AccountKey(Access):
    """The account's key, which may do everything."""

    def __init__(self, key: SecretStr) -> None:
        self._key = key

    async def credential(self) -> AzureCredential:
        """The key itself."""
        return {"access_key": self._key.get_secret_value(), "expires_at": None}

    async def signing_key(self) -> SigningKey:
        """The key itself."""
        return SigningKey(base64.b64decode(self._key.get_secret_value()))
