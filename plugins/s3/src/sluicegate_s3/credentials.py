"""Credentials, where they come from, and how they are kept fresh."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from sluicegate.api import SecretStr, StorageError, TemporaryCredentials

_logger = logging.getLogger(__name__)

_RELOAD_MS = 300_000
_RETRY_MS = 30_000


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key pair, with a session's token and end where it is temporary; `repr` shows no secret.

    Attributes:
        access_key_id: Public part of the key; every signed URL shows it.
        secret_access_key: What signs.
        session_token: Present in temporary credentials.
        expires_at: When the store refuses it, epoch milliseconds; `None` is never, or not known.
    """

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires_at: int | None = None


class CredentialSource(ABC):
    """Loads credentials anew each time it is asked."""

    @abstractmethod
    async def load(self) -> Credentials:
        """Credentials that are valid now.

        Raises:
            StorageError: There are none, or who gives them does not answer.
        """


class StaticKey(CredentialSource):
    """The key of the configuration."""

    def __init__(
        self, access_key_id: str, secret_access_key: SecretStr, session_token: SecretStr | None
    ) -> None:
        self._credentials = Credentials(
            access_key_id,
            secret_access_key.get_secret_value(),
            session_token.get_secret_value() if session_token else None,
        )

    async def load(self) -> Credentials:
        """The key itself."""
        return self._credentials


class FreshCredentials:
    """The credentials of a source, loaded anew when half of their life is gone.

    Presigned URLs die with the session that signed them: renewing at half keeps them alive for at
    least that long. Credentials without an end are looked up again every five minutes, so that
    rotated files are followed. When renewing fails, the old ones serve until they expire.
    """

    def __init__(self, source: CredentialSource, clock: Callable[[], float] = time.time) -> None:
        self._source = source
        self._clock = clock
        self._lock = anyio.Lock()
        self._current: Credentials | None = None
        self._due = 0

    async def get(self) -> Credentials:
        """Credentials that have not expired.

        Raises:
            StorageError: There are none, or who gives them does not answer.
        """
        current = self._current
        if current is not None and (not self._is_due() or self._another_renews(current)):
            return current
        async with self._lock:
            if self._current is None or self._is_due():
                self._current = await self._renewed(self._current)
            return self._current

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _is_due(self) -> bool:
        return self._now() >= self._due

    def _another_renews(self, current: Credentials) -> bool:
        return self._lock.locked() and self._is_alive(current)

    def _is_alive(self, credentials: Credentials) -> bool:
        return credentials.expires_at is None or credentials.expires_at > self._now()

    async def _renewed(self, current: Credentials | None) -> Credentials:
        try:
            loaded = await self._source.load()
        except StorageError as error:
            if current is None or not self._is_alive(current):
                raise
            _logger.warning("S3 credentials could not be renewed, using the old ones: %s", error)
            self._due = self._now() + _RETRY_MS
            return current
        now = self._now()
        self._due = now + _RELOAD_MS if loaded.expires_at is None else (now + loaded.expires_at) // 2
        return loaded


def given_credentials(given: TemporaryCredentials) -> Credentials:
    """Credentials that a vendor gave, in the plugin's own form.

    Raises:
        StorageError: They are another cloud's, or incomplete.
    """
    secret = given.secret
    if given.kind != "aws" or not {"access_key_id", "secret_access_key"} <= secret.keys():
        raise StorageError(
            "the credentials given for this table do not open its storage; ask the gateway's operator",
            detail=f"{given.kind} credentials ({sorted(secret)}) for {given.location}",
        )
    return Credentials(
        secret["access_key_id"],
        secret["secret_access_key"],
        secret.get("session_token"),
        given.expires_at,
    )
