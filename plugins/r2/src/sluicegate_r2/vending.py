"""Temporary credentials for some directories of a bucket, signed here or given by Cloudflare.

See "Temporary credentials" and "Locally sign temporary credentials" of R2's documentation.
"""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from sluicegate.api import (
    AuthorizedClient,
    HttpAnswer,
    HttpClient,
    HttpRequest,
    NoAnswer,
    SecretStr,
    StorageError,
)
from sluicegate_r2.address import Bucket
from sluicegate_r2.config import R2Config

MAX_LIFETIME: Final = 604_800
"""Longest life of temporary credentials, in seconds (seven days)."""

_READ_ONLY = "object-read-only"
_TIMEOUT_SECONDS = 10
_CONNECTIONS = 16
_LONGEST = 1 << 16
_ANSWERED: Final = {
    "access_key_id": "accessKeyId",
    "secret_access_key": "secretAccessKey",
    "session_token": "sessionToken",
}


class Vending(ABC):
    """A way to make temporary credentials."""

    @abstractmethod
    async def secret(self, prefixes: Sequence[str], at: int, lifetime: int) -> dict[str, str]:
        """Access key, secret and session token that read below some prefixes.

        Args:
            prefixes: Key prefixes with a slash at their end; none is the whole bucket.
            at: Now, epoch seconds.
            lifetime: Seconds, at most `MAX_LIFETIME`.

        Raises:
            StorageError: Cloudflare gives none.
        """

    async def aclose(self) -> None:  # noqa: B027 (having nothing to release is the usual case)
        """Release connections."""


class LocalVending(Vending):
    """A JSON web token signed with the parent key: no call, and nothing to wait for."""

    def __init__(self, bucket: Bucket, host: str, access_key_id: str, secret: SecretStr) -> None:
        self._bucket = bucket
        self._host = host
        self._access_key_id = access_key_id
        self._secret = secret

    async def secret(self, prefixes: Sequence[str], at: int, lifetime: int) -> dict[str, str]:
        """See `Vending.secret`."""
        import jwt

        claims: dict[str, Any] = {"bucket": self._bucket.name, "scope": _READ_ONLY}
        if prefixes:
            claims["paths"] = {"prefixPaths": list(prefixes), "objectPaths": []}
        claims |= {
            "sub": self._bucket.account,
            "iss": self._access_key_id,
            "aud": self._host,
            "iat": at,
            "exp": at + lifetime,
        }
        token = jwt.encode(claims, self._secret.get_secret_value(), algorithm="HS256")
        return {
            "access_key_id": self._access_key_id,
            "secret_access_key": sha256(token.encode()).hexdigest(),
            "session_token": base64.b64encode(f"jwt/{token}".encode()).decode(),
        }


class ApiVending(Vending):
    """Cloudflare's API: one call for each credential, which Cloudflare's audit log then shows."""

    def __init__(self, bucket: Bucket, endpoint: str, parent: str, token: SecretStr) -> None:
        self._bucket = bucket
        self._url = f"{endpoint}/accounts/{bucket.account}/r2/temp-access-credentials"
        self._parent = parent
        http = HttpClient(timeout=_TIMEOUT_SECONDS, connections=_CONNECTIONS, longest=_LONGEST)
        self._http = AuthorizedClient(http, token)

    async def secret(self, prefixes: Sequence[str], at: int, lifetime: int) -> dict[str, str]:
        """See `Vending.secret`."""
        asked: dict[str, Any] = {
            "bucket": self._bucket.name,
            "parentAccessKeyId": self._parent,
            "permission": _READ_ONLY,
            "ttlSeconds": lifetime,
        }
        if prefixes:
            asked["prefixes"] = list(prefixes)
        try:
            answer = await self._http.send(HttpRequest("POST", self._url, json=asked))
            if answer.status == 429 or answer.status >= 500:
                raise NoAnswer(f"status {answer.status}")
            result = _result(answer, json.loads(answer.content))
        except (NoAnswer, ValueError, RecursionError) as error:
            raise StorageError(
                "the service that gives credentials for this storage does not answer; try again later",
                detail=f"{self._url}: {type(error).__name__}: {error}",
            ) from error
        return {ours: result[theirs] for ours, theirs in _ANSWERED.items()}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _result(answer: HttpAnswer, document: Any) -> Mapping[str, str]:
    found = document if isinstance(document, dict) else {}
    result = found.get("result")
    if answer.status == 200 and isinstance(result, dict) and result.keys() >= set(_ANSWERED.values()):
        return result
    raise StorageError(
        "Cloudflare refuses the gateway's token for this storage; ask its operator",
        detail=f"{answer.status} {answer.redacted(str(found.get('errors')))}",
    )


def configured_vending(config: R2Config) -> Vending | None:
    """The configured way, if there is one."""
    if config.vending is None:
        return None
    if config.api_token is not None:
        return ApiVending(config.bucket, config.api_endpoint, config.access_key_id, config.api_token)
    host = config.origin.partition("://")[2]
    return LocalVending(config.bucket, host, config.access_key_id, config.secret_access_key)
