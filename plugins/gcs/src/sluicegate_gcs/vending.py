"""Creates tokens that only read some directories."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sluicegate.api import RefreshingValue, StorageError, UnsupportedOperation
from sluicegate_gcs.google import SCOPE, GoogleClient, Identity
from sluicegate_gcs.tokens import AccessToken

MAX_RULES: Final = 10
"""Maximum number of rules in a boundary."""

_READING = "inRole:roles/storage.objectViewer"
_NOT_IN_CONDITIONS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def boundary_of(bucket: str, prefixes: Sequence[str]) -> dict[str, Any]:
    """Return a boundary that permits only reading and listing below some prefixes of a bucket."""
    outermost = _outermost(prefixes)
    if len(outermost) > MAX_RULES:
        raise UnsupportedOperation(
            f"the table has files in {len(outermost)} directories, but Google's credentials can be "
            f"limited to at most {MAX_RULES}; read the table with 'url' access"
        )
    rules = [_rule(bucket, prefix) for prefix in outermost]
    return {"accessBoundary": {"accessBoundaryRules": rules}}


def _outermost(prefixes: Sequence[str]) -> list[str]:
    """Return the prefixes that are not below another one."""
    kept: list[str] = []
    for prefix in sorted(set(prefixes)):
        if not any(prefix.startswith(outer) for outer in kept):
            kept.append(prefix)
    return kept


def _rule(bucket: str, prefix: str) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "availableResource": f"//storage.googleapis.com/projects/_/buckets/{bucket}",
        "availablePermissions": [_READING],
    }
    if prefix:
        rule["availabilityCondition"] = {"expression": _condition(bucket, prefix)}
    return rule


def _condition(bucket: str, prefix: str) -> str:
    objects = _literal(f"projects/_/buckets/{bucket}/objects/{prefix}")
    listed = "api.getAttribute('storage.googleapis.com/objectListPrefix', '')"
    return f"resource.name.startsWith({objects}) || {listed}.startsWith({_literal(prefix)})"


def _literal(text: str) -> str:
    """Return a CEL string literal."""
    if _NOT_IN_CONDITIONS.search(text):
        raise UnsupportedOperation(
            "the name of the table's directory contains control characters, so Google's credentials "
            "cannot be limited to it; read the table with 'url' access"
        )
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a type's name
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


class TokenNarrower:
    """Exchanges the gateway's token for one within a boundary.

    A downscoped token expires together with its source. If that is too late, the IAM credentials API
    first issues a source with a shorter lifetime, for the same service account.
    """

    def __init__(
        self,
        client: GoogleClient,
        identity: Identity,
        tokens: RefreshingValue[AccessToken],
        sts_endpoint: str,
        iam_endpoint: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._identity = identity
        self._tokens = tokens
        self._exchange_url = f"{sts_endpoint}/v1/token"
        self._iam_endpoint = iam_endpoint
        self._clock = clock

    async def narrowed(self, boundary: Mapping[str, Any], lifetime: int) -> AccessToken:
        """A token within a boundary (see `boundary_of`), valid for at most `lifetime` seconds."""
        source = await self._tokens.get()
        now = int(self._clock() * 1000)
        if source.expires_at > now + lifetime * 1000:
            source = await self._shorter(source, lifetime)
        response = await self._client.run(lambda: self._exchanged(source, boundary))
        return AccessToken(response["access_token"], min(source.expires_at, _expiry_in(response, now)))

    async def _shorter(self, source: AccessToken, lifetime: int) -> AccessToken:
        account = await self._identity.account()
        url = f"{self._iam_endpoint}/v1/projects/-/serviceAccounts/{account.email}:generateAccessToken"
        body = {"scope": [SCOPE], "lifetime": f"{lifetime}s"}
        response = await self._client.call(url, source, body)
        end = datetime.fromisoformat(response["expireTime"])
        return AccessToken(response["accessToken"], int(end.timestamp() * 1000))

    def _exchanged(self, source: AccessToken, boundary: Mapping[str, Any]) -> Mapping[str, Any]:
        from google.oauth2 import sts

        response: Mapping[str, Any] = sts.Client(self._exchange_url).exchange_token(
            self._client.request,
            grant_type=_EXCHANGE,
            subject_token=source.value,
            subject_token_type=_TOKEN,
            requested_token_type=_TOKEN,
            additional_options=boundary,
        )
        if "access_token" not in response:
            raise StorageError("Google issued no credentials for this table; try again later")
        return response


def _expiry_in(response: Mapping[str, Any], now: int) -> int:
    """Return the expiry in the response. If it is missing, the token expires with its source."""
    seconds = response.get("expires_in")
    return now + int(seconds) * 1000 if seconds else 2**63
