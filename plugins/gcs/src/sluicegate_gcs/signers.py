"""Signers of URLs: an HMAC key, a service account's private key, or the IAM credentials API."""

from __future__ import annotations

import base64
import hmac
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import ClassVar, Final, TypeVar
from urllib.parse import quote

import anyio
import anyio.lowlevel
import anyio.to_thread

from sluicegate.api import RefreshingValue, SecretStr
from sluicegate_gcs.google import GoogleClient
from sluicegate_gcs.tokens import AccessToken

MAX_EXPIRES_IN: Final = 604_800
"""Maximum lifetime of a signed URL, in seconds (seven days)."""


@dataclass(frozen=True, slots=True)
class SignedUrls:
    """URLs of one bucket, for one time, one method and one signer, before they are signed.

    Attributes:
        at: Time of signing, epoch seconds.
        expires_in: Lifetime in seconds from `at`, 1 to 604,800.
    """

    origin: str
    bucket: str
    algorithm: str
    principal: str
    at: int
    expires_in: int
    method: str = "GET"

    @property
    def day(self) -> str:
        """Return the day of signing, from which HMAC keys are derived."""
        return self._stamp[:8]

    def strings_to_sign(self, keys: Sequence[str]) -> list[bytes]:
        """Return the strings to sign, one per key (percent-encoded)."""
        host = self.origin.partition("://")[2]
        begin = sha256(f"{self.method}\n/{self.bucket}/".encode())
        end = f"\n{self._query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD".encode()
        head = f"{self.algorithm}\n{self._stamp}\n{self._scope}\n"
        strings = []
        for key in keys:
            request = begin.copy()
            request.update(key.encode() + end)
            strings.append((head + request.hexdigest()).encode())
        return strings

    def urls(self, keys: Sequence[str], signatures: Sequence[str]) -> list[str]:
        """Return URLs of keys (percent-encoded) with their hexadecimal signatures."""
        begin = f"{self.origin}/{self.bucket}/"
        end = f"?{self._query}&X-Goog-Signature="
        return [
            f"{begin}{key}{end}{signature}" for key, signature in zip(keys, signatures, strict=True)
        ]

    @property
    def _stamp(self) -> str:
        return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self.at))

    @property
    def _scope(self) -> str:
        return f"{self.day}/auto/storage/goog4_request"

    @property
    def _query(self) -> str:
        return (
            f"X-Goog-Algorithm={self.algorithm}"
            f"&X-Goog-Credential={quote(f'{self.principal}/{self._scope}', safe='~')}"
            f"&X-Goog-Date={self._stamp}&X-Goog-Expires={self.expires_in}&X-Goog-SignedHeaders=host"
        )


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
