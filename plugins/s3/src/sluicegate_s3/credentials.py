"""Credentials, where they come from, and how they are kept fresh."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from sluicegate.api import Fresh, SecretStr, StorageError, TemporaryCredentials

_RELOAD_SECONDS = 300


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


def fresh_credentials(
    source: CredentialSource, clock: Callable[[], float] = time.time
) -> Fresh[Credentials]:
    """The credentials of a source; those without an end are looked up again every five minutes.

    So files that are rotated are followed.
    """
    return Fresh(source.load, "S3 credentials", reload_after=_RELOAD_SECONDS, clock=clock)


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
