"""Signers of URLs: an HMAC key, a service account's private key, or the IAM credentials API."""

from __future__ import annotations

import base64
import hmac
import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import ClassVar, Final, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from sluicegate.api import RefreshingValue, SecretStr
from sluicegate_gcs.canonical import MAX_EXPIRES_IN
from sluicegate_gcs.google import GoogleClient
from sluicegate_gcs.tokens import AccessToken

_T = TypeVar("_T")

_RSA_BATCH = 32
_SYSTEM_KEY_LIFE: Final = 43_200


class Signer(ABC):
    """Signs for one principal.

    Attributes:
        max_expires_in: Maximum lifetime of its signatures, in seconds.
    """

    algorithm: ClassVar[str] = "GOOG4-RSA-SHA256"
    max_expires_in: ClassVar[int] = MAX_EXPIRES_IN

    def __init__(self, principal: str) -> None:
        self.principal = principal

    @abstractmethod
    async def sign(self, strings: Sequence[bytes], day: str) -> list[str]:
        """Return signatures in hexadecimal digits, in the order of the strings."""


class HmacSigner(Signer):
    """An HMAC key of a service account, which signs as fast as S3's keys."""

    algorithm = "GOOG4-HMAC-SHA256"

    def __init__(self, access_id: str, secret: SecretStr) -> None:
        super().__init__(access_id)
        self._secret = secret

    async def sign(self, strings: Sequence[bytes], day: str) -> list[str]:
        """See `Signer.sign`."""
        key = f"GOOG4{self._secret.get_secret_value()}".encode()
        for part in (day, "auto", "storage", "goog4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        await anyio.lowlevel.checkpoint()
        return [hmac.digest(key, string, "sha256").hex() for string in strings]


class KeySigner(Signer):
    """A service account's private key. Signs on all CPU cores, because RSA dominates the cost."""

    def __init__(self, principal: str, signature: Callable[[bytes], bytes]) -> None:
        super().__init__(principal)
        self._signature = signature
        self._limiter = anyio.CapacityLimiter(os.cpu_count() or 1)

    async def sign(self, strings: Sequence[bytes], day: str) -> list[str]:
        """See `Signer.sign`."""
        batches = [strings[start : start + _RSA_BATCH] for start in range(0, len(strings), _RSA_BATCH)]
        signed = await _all_of([partial(self._in_thread, batch) for batch in batches])
        return [signature for batch in signed for signature in batch]

    async def _in_thread(self, batch: Sequence[bytes]) -> list[str]:
        def work() -> list[str]:
            return [self._signature(string).hex() for string in batch]

        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


class IamSigner(Signer):
    """The IAM credentials API: the gateway stores no key, but each URL takes one call.

    Google signs with keys that it rotates, so URLs are valid for at most twelve hours.
    """

    max_expires_in = _SYSTEM_KEY_LIFE

    def __init__(
        self, principal: str, endpoint: str, client: GoogleClient, tokens: RefreshingValue[AccessToken]
    ) -> None:
        super().__init__(principal)
        self._url = f"{endpoint}/v1/projects/-/serviceAccounts/{principal}:signBlob"
        self._client = client
        self._tokens = tokens

    async def sign(self, strings: Sequence[bytes], day: str) -> list[str]:
        """See `Signer.sign`."""
        return await _all_of([partial(self._signature, string) for string in strings])

    async def _signature(self, string: bytes) -> str:
        body = {"payload": base64.b64encode(string).decode()}
        answer = await self._client.call(self._url, await self._tokens.get(), body)
        return base64.b64decode(answer["signedBlob"]).hex()


async def _all_of(works: Sequence[Callable[[], Awaitable[_T]]]) -> list[_T]:
    """Return all results in order. The first failure cancels the others."""
    results: dict[int, _T] = {}

    async def run(index: int) -> None:
        results[index] = await works[index]()

    try:
        async with anyio.create_task_group() as tasks:
            for index in range(len(works)):
                tasks.start_soon(run, index)
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [results[index] for index in range(len(works))]
