"""Encrypts parts of payloads that might contain secrets. Imports cryptography when first used."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from sluicegate.api.delegation.tasks import DelegatedTask, TableIdentity, TaskFailed, TaskProgress
from sluicegate.config import Settings
from sluicegate.delegation.queue.records import TaskRecord
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


def open_task(record: TaskRecord, cipher: PayloadCipher) -> DelegatedTask:
    """Return the task of a leased record."""
    parameters: Mapping[str, Any] = record.payload["operation_parameters"]
    table = parameters["table_identity"]
    further = {} if record.sealed is None else dict(cipher.decrypt(record.sealed))
    return DelegatedTask(
        id=record.id,
        operation=record.operation,
        realm=record.realm,
        table=TableIdentity(
            table["table_entity_id"],
            table["catalog_name"],
            tuple(table["namespace_levels"]),
            table["table_name"],
        ),
        attempt=record.attempt_count,
        correlation_id=record.correlation_id,
        stages=record.stages,
        progress=None if record.progress is None else TaskProgress(**record.progress),
        properties=parameters.get("properties", {}),
        metadata_location=parameters.get("metadata_location"),
        metadata=further.pop("metadata", None),
        config=further.pop("config", None),
        further=further,
    )
