"""Encrypts parts of payloads that might contain secrets. Imports cryptography when first used."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from sluicegate.api.delegation.tasks import TaskFailed
from sluicegate.config import Settings
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.load import load_keys

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

_PURPOSE = "task payloads"


class PayloadCipher:
    """Encrypts values with the newest key, and decrypts values with any of the keys."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys.derive(_PURPOSE)

    @classmethod
    def of(cls, settings: Settings) -> PayloadCipher:
        """Return the cipher for `delegation.encryption_keys`, or else for the signing keys."""
        own = settings.delegation.encryption_keys
        if own:
            return cls(KeyRing(tuple(key.get_secret_value().encode() for key in own)))
        return cls(load_keys(settings))

    def encrypt(self, value: Mapping[str, Any]) -> bytes:
        """Encrypt a value for storage."""
        return self._fernet.encrypt(orjson.dumps(value))

    def decrypt(self, encrypted: bytes) -> Mapping[str, Any]:
        """Decrypt a value."""
        from cryptography.fernet import InvalidToken

        try:
            decrypted: Mapping[str, Any] = orjson.loads(self._fernet.decrypt(encrypted))
        except InvalidToken:
            raise TaskFailed(
                "the payload is encrypted with a key that is no longer configured",
                error_code="INTERNAL_ERROR",
                retryable=True,
            ) from None
        return decrypted

    @cached_property
    def _fernet(self) -> MultiFernet:
        from cryptography.fernet import Fernet, MultiFernet

        return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in self._keys.keys])
