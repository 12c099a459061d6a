"""Tokens that read some directories and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sluicegate.api import Fresh, StorageError
from sluicegate_gcs.google import SCOPE, GoogleClient, Identity
from sluicegate_gcs.tokens import AccessToken

_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a type's name
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


class TokenNarrower:
    """Exchanges the gateway's own token for one within a boundary.

    A narrowed token ends with the one it was made from. Where that would live longer than wanted, the
    IAM credentials API first gives a shorter one, in the name of the same service account.

    Args:
        client: Makes the calls.
        identity: Who the gateway is.
        tokens: The gateway's own.
        sts_endpoint: URL of the Security Token Service.
        iam_endpoint: URL of the IAM credentials API.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        client: GoogleClient,
        identity: Identity,
        tokens: Fresh[AccessToken],
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
        """A token within a boundary (see `boundary_of`) that lives for `lifetime` seconds at most.

        Raises:
            StorageError: Google gives none.
        """
        source = await self._tokens.get()
        now = int(self._clock() * 1000)
        if source.expires_at > now + lifetime * 1000:
            source = await self._shorter(source, lifetime)
        answer = await self._client.run(lambda: self._exchanged(source, boundary))
        return AccessToken(answer["access_token"], min(source.expires_at, _told_end(answer, now)))

    async def _shorter(self, source: AccessToken, lifetime: int) -> AccessToken:
        account = await self._identity.account()
        url = f"{self._iam_endpoint}/v1/projects/-/serviceAccounts/{account.email}:generateAccessToken"
        body = {"scope": [SCOPE], "lifetime": f"{lifetime}s"}
        answer = await self._client.call(url, source, body)
        end = datetime.fromisoformat(answer["expireTime"])
        return AccessToken(answer["accessToken"], int(end.timestamp() * 1000))

    def _exchanged(self, source: AccessToken, boundary: Mapping[str, Any]) -> Mapping[str, Any]:
        from google.oauth2 import sts

        answer: Mapping[str, Any] = sts.Client(self._exchange_url).exchange_token(
            self._client.request,
            grant_type=_EXCHANGE,
            subject_token=source.value,
            subject_token_type=_TOKEN,
            requested_token_type=_TOKEN,
            additional_options=boundary,
        )
        if "access_token" not in answer:
            raise StorageError("Google gave no credentials for this table; try again later")
        return answer


def _told_end(answer: Mapping[str, Any], now: int) -> int:
    """What the answer says of its end, which it may leave out: then it ends with its source."""
    seconds = answer.get("expires_in")
    return now + int(seconds) * 1000 if seconds else 2**63
