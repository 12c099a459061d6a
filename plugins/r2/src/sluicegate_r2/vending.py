"""Creates temporary credentials for directories of a bucket, locally or with Cloudflare's API.

See "Temporary credentials" and "Locally sign temporary credentials" of the R2 documentation.
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
    HttpClient,
    HttpRequest,
    HttpResponse,
    NoResponse,
    SecretStr,
    StorageError,
)
from sluicegate_r2.address import Bucket
from sluicegate_r2.config import R2Config

MAX_LIFETIME: Final = 604_800
"""Maximum lifetime of temporary credentials, in seconds (seven days)."""

_READ_ONLY = "object-read-only"
_TIMEOUT_SECONDS = 10
_CONNECTIONS = 16
_LONGEST = 1 << 16
_RESPONSE_FIELDS: Final = {
    "access_key_id": "accessKeyId",
    "secret_access_key": "secretAccessKey",
    "session_token": "sessionToken",
}


class Vending(ABC):
    """A way to create temporary credentials."""

    @abstractmethod
    async def secret(self, prefixes: Sequence[str], at: int, lifetime: int) -> dict[str, str]:
        """Return access key, secret and session token for reading below some prefixes."""

    async def aclose(self) -> None:  # noqa: B027 (most implementations have nothing to release)
        """Release connections."""


class LocalVending(Vending):
    """Signs a JSON Web Token with the parent key, without a request to Cloudflare."""

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
    """Calls Cloudflare's API for each credential, so that Cloudflare's audit log contains it."""

    def __init__(self, bucket: Bucket, endpoint: str, parent: str, token: SecretStr) -> None:
        self._bucket = bucket
        self._url = f"{endpoint}/accounts/{bucket.account}/r2/temp-access-credentials"
        self._parent = parent
        http = HttpClient(timeout=_TIMEOUT_SECONDS, connections=_CONNECTIONS, longest=_LONGEST)
        self._http = AuthorizedClient(http, token)

    async def secret(self, prefixes: Sequence[str], at: int, lifetime: int) -> dict[str, str]:
        """See `Vending.secret`."""
        request: dict[str, Any] = {
            "bucket": self._bucket.name,
            "parentAccessKeyId": self._parent,
            "permission": _READ_ONLY,
            "ttlSeconds": lifetime,
        }
        if prefixes:
            request["prefixes"] = list(prefixes)
        try:
            response = await self._http.send(
                HttpRequest("POST", self._url, json=request, idempotent=True)
            )
            if response.status == 429 or response.status >= 500:
                raise NoResponse(f"status {response.status}")
            result = _result(response, json.loads(response.content))
        except (NoResponse, ValueError, RecursionError) as error:
            raise StorageError(
                "the service that issues credentials for this storage does not respond; try again "
                "later",
                detail=f"{self._url}: {type(error).__name__}: {error}",
            ) from error
        return {ours: result[theirs] for ours, theirs in _RESPONSE_FIELDS.items()}

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()


def _result(response: HttpResponse, document: Any) -> Mapping[str, str]:
    found = document if isinstance(document, dict) else {}
    result = found.get("result")
    if (
        response.status == 200
        and isinstance(result, dict)
        and result.keys() >= set(_RESPONSE_FIELDS.values())
    ):
        return result
    raise StorageError(
        "Cloudflare rejects the gateway's token for this storage; ask the gateway's operator",
        detail=f"{response.status} {response.redacted(str(found.get('errors')))}",
    )


def configured_vending(config: R2Config) -> Vending | None:
    """Return the configured way to create credentials; `None` if vending is not configured."""
    if config.vending is None:
        return None
    if config.api_token is not None:
        return ApiVending(config.bucket, config.api_endpoint, config.access_key_id, config.api_token)
    host = config.origin.partition("://")[2]
    return LocalVending(config.bucket, host, config.access_key_id, config.secret_access_key)
