"""Encrypts the parts of payloads that may hold secrets. Loads cryptography when first used."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from sluicegate.config import Settings
from sluicegate.executors import TaskFailed
from sluicegate.keyring import KeyRing
from sluicegate.keys import load_keys

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

_PURPOSE = "task payloads"


class Seal:
    """Seals values with the newest key, and opens what any of the keys has sealed.

    Args:
        keys: Secret keys of any length, the newest first.
    """

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys.derive(_PURPOSE)

    @classmethod
    def of(cls, settings: Settings) -> Seal:
        """The seal of `delegation.encryption_keys`, or else of the signing keys.

        Raises:
            ConfigurationError: There are neither.
        """
        own = settings.delegation.encryption_keys
        if own:
            return cls(KeyRing(tuple(key.get_secret_value().encode() for key in own)))
        return cls(load_keys(settings))

    def close(self, value: Mapping[str, Any]) -> bytes:
        """The value as it may be stored."""
        return self._fernet.encrypt(orjson.dumps(value))

    def open(self, sealed: bytes) -> Mapping[str, Any]:
        """The value that was sealed.

        Raises:
            TaskFailed: None of the keys has sealed it. Configured again, they open it: so it is
                retryable.
        """
        from cryptography.fernet import InvalidToken

        try:
            opened: Mapping[str, Any] = orjson.loads(self._fernet.decrypt(sealed))
        except InvalidToken:
            raise TaskFailed(
                "the payload is sealed by a key that is not configured any more",
                error_code="INTERNAL_ERROR",
                retryable=True,
            ) from None
        return opened

    @cached_property
    def _fernet(self) -> MultiFernet:
        from cryptography.fernet import Fernet, MultiFernet

        return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in self._keys.keys])
