"""The token service: sessions of roles and of long-lived keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate.api import Fresh
from sluicegate_s3.aws import BotocoreThreads, client, milliseconds
from sluicegate_s3.credentials import Credentials, CredentialSource


class TokenService:
    """Asks for sessions; its client is kept as long as the credentials that sign stay the same.

    Args:
        threads: Where botocore runs.
        region: Region of the token service.
        endpoint: URL of the token service; `None` is the region's of AWS.
    """

    def __init__(self, threads: BotocoreThreads, region: str, endpoint: str | None = None) -> None:
        self._threads = threads
        self._region = region
        self._endpoint = endpoint
        self._kept: tuple[Credentials, Any] | None = None

    async def assume_role(self, base: Credentials, request: Mapping[str, Any]) -> Credentials:
        """A session of a role; the request holds the parameters of `AssumeRole`.

        Raises:
            StorageError: The service refuses, or does not answer.
            UnsupportedOperation: The session policy, packed with the tags, is too large.
        """
        return await self._session(base, lambda service: service.assume_role(**request))

    async def session_token(self, base: Credentials, duration: int) -> Credentials:
        """A session of a long-lived key's own user, with all that the user may do.

        Raises:
            StorageError: The service refuses, or does not answer.
        """
        return await self._session(
            base, lambda service: service.get_session_token(DurationSeconds=duration)
        )

    async def _session(self, base: Credentials, ask: Callable[[Any], dict[str, Any]]) -> Credentials:
        session = (await self._threads.run(lambda: ask(self._client(base))))["Credentials"]
        return Credentials(
            session["AccessKeyId"],
            session["SecretAccessKey"],
            session["SessionToken"],
            milliseconds(session["Expiration"]),
        )

    def _client(self, base: Credentials) -> Any:
        """A client that signs with these credentials; making one costs more than a request."""
        kept = self._kept
        if kept is None or kept[0] != base:
            kept = (base, client("sts", base, region=self._region, endpoint=self._endpoint))
            self._kept = kept
        return kept[1]


@dataclass(frozen=True, slots=True)
class Role:
    """A role to assume.

    Attributes:
        arn: The role.
        session_name: Appears in the store's logs.
        duration: Wanted life of a session in seconds; the service may give less.
        external_id: Asked for by some trust policies.
    """

    arn: str
    session_name: str
    duration: int
    external_id: str | None = None

    def request(self) -> dict[str, Any]:
        """Parameters of `AssumeRole`."""
        request = {
            "RoleArn": self.arn,
            "RoleSessionName": self.session_name,
            "DurationSeconds": self.duration,
            "ExternalId": self.external_id,
        }
        return {name: value for name, value in request.items() if value is not None}


class AssumedRole(CredentialSource):
    """Sessions of a role, assumed with other credentials."""

    def __init__(self, service: TokenService, role: Role, base: Fresh[Credentials]) -> None:
        self._service = service
        self._role = role
        self._base = base

    async def load(self) -> Credentials:
        """A new session."""
        return await self._service.assume_role(await self._base.get(), self._role.request())
