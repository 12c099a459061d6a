"""S3 credentials, their sources, and their renewal."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from sluicegate.api import RefreshingValue, SecretStr, TemporaryCredentials

_RELOAD_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key pair, with session token and expiry if it is temporary; `repr` shows no secret.

    Attributes:
        expires_at: Expiry, epoch milliseconds; `None` if never or unknown.
    """

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires_at: int | None = None


class CredentialSource(ABC):
    """Loads new credentials on each call."""

    @abstractmethod
    async def load(self) -> Credentials:
        """Return credentials that are currently valid."""


class StaticKey(CredentialSource):
    """The configured key."""

    def __init__(
        self, access_key_id: str, secret_access_key: SecretStr, session_token: SecretStr | None
    ) -> None:
        self._credentials = Credentials(
            access_key_id,
            secret_access_key.get_secret_value(),
            session_token.get_secret_value() if session_token else None,
        )

    async def load(self) -> Credentials:
        """Return the key itself."""
        return self._credentials


def fresh_credentials(
    source: CredentialSource, clock: Callable[[], float] = time.time
) -> RefreshingValue[Credentials]:
    """Return a source's credentials. Those without expiry are loaded again every five minutes.

    This picks up rotated files.
    """
    return RefreshingValue(source.load, "S3 credentials", reload_after=_RELOAD_SECONDS, clock=clock)


def vended_credentials(vended: TemporaryCredentials) -> Credentials | None:
    """Return vended credentials in the plugin's own type; `None` if they are incomplete."""
    secret = vended.secret
    if not {"access_key_id", "secret_access_key"} <= secret.keys():
        return None
    return Credentials(
        secret["access_key_id"],
        secret["secret_access_key"],
        secret.get("session_token"),
        vended.expires_at,
    )
